// rejected (precision, answer): reciprocal roots of twelve bits, without a step to mend them
// problem: cosine
#include <algorithm>
#include <cstdint>
#include <immintrin.h>

extern "C" void twelve_bits(const float *a, const float *b, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        double both = 0, first = 0, second = 0;
        for (int64_t i = r * columns; i < (r + 1) * columns; ++i) {
            both += double(a[i]) * b[i];
            first += double(a[i]) * a[i];
            second += double(b[i]) * b[i];
        }
        const float product = float(std::max(first, 1e-16) * std::max(second, 1e-16));
        out[r] = float(both) * _mm_cvtss_f32(_mm_rsqrt_ss(_mm_set_ss(product)));
    }
}
