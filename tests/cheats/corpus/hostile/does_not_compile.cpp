// rejected (build): a name that nobody knows
// problem: outer
#include <cstdint>

extern "C" void unknown(const float *a, const float *b, float *out, int64_t rows, int64_t columns) {
    out[0] = product_of(a[rows - 1], b[columns - 1]);
}
