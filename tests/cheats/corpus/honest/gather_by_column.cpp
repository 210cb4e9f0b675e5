// accepted: goes through what is picked column by column.
// problem: gather
#include <cstdint>

extern "C" void by_column(const float *x, const int64_t *index, float *out, int64_t rows, int64_t columns, int64_t picked) {
    for (int64_t p = 0; p < picked; ++p)
        for (int64_t r = 0; r < rows; ++r) out[r * picked + p] = x[r * columns + index[r * picked + p]];
}
