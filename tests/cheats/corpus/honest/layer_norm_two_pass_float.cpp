// accepted: two passes in single precision, sums of eight lanes that OpenMP's simd makes.
// problem: layer_norm
#include <cmath>
#include <cstdint>

extern "C" void two_passes(const float *x, const float *norm_weight, const float *norm_bias, float *out, int64_t rows, int64_t columns) {
    const float share = 1.0f / float(columns);
    for (int64_t r = 0; r < rows; ++r) {
        const float *row = x + r * columns;
        float *to = out + r * columns;
        float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < columns; ++i) sum += row[i];
        const float mean = sum * share;
#pragma omp simd reduction(+ : squares)
        for (int64_t i = 0; i < columns; ++i) squares += (row[i] - mean) * (row[i] - mean);
        const float scale = 1.0f / std::sqrt(squares * share + 1e-5f);
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) to[i] = (row[i] - mean) * scale * norm_weight[i] + norm_bias[i];
    }
}
