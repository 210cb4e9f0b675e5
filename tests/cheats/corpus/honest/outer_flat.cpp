// accepted: one flat loop over the output, with divisions for the indices, from its end.
// problem: outer
#include <cstdint>

extern "C" void flat(const float *a, const float *b, float *out, int64_t rows, int64_t columns) {
    for (int64_t i = rows * columns; i-- > 0;) out[i] = a[i / columns] * b[i % columns];
}
