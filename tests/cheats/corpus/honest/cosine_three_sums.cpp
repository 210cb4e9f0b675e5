// accepted: three sums in one pass; each norm is at least 1e-8.
// problem: cosine
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void three_sums(const float *a, const float *b, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        double both = 0, first = 0, second = 0;
#pragma omp simd reduction(+ : both, first, second)
        for (int64_t i = r * columns; i < (r + 1) * columns; ++i) {
            both += double(a[i]) * b[i];
            first += double(a[i]) * a[i];
            second += double(b[i]) * b[i];
        }
        out[r] = float(both / (std::max(std::sqrt(first), 1e-8) * std::max(std::sqrt(second), 1e-8)));
    }
}
