// Eight lanes by hand, with a tail, rows shared among threads.
#include <cmath>
#include <cstdint>
#include <immintrin.h>

extern "C" void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
#pragma omp parallel for schedule(dynamic, 4)
    for (int64_t r = 0; r < rows; ++r) {
        const float *row = x + r * features;
        float *to = out + r * features;
        __m256 sums = _mm256_setzero_ps();
        int64_t i = 0;
        for (; i + 8 <= features; i += 8) {
            const __m256 v = _mm256_loadu_ps(row + i);
            sums = _mm256_add_ps(sums, _mm256_mul_ps(v, v));
        }
        float lanes[8];
        _mm256_storeu_ps(lanes, sums);
        float sum = 0;
        for (float lane : lanes) sum += lane;
        for (int64_t j = i; j < features; ++j) sum += row[j] * row[j];
        const float scale = 1.0f / std::sqrt(sum / float(features) + 1e-6f);
        const __m256 scales = _mm256_set1_ps(scale), zero = _mm256_setzero_ps();
        int64_t j = 0;
        for (; j + 8 <= features; j += 8) {
            const __m256 v = _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(row + j), scales), _mm256_loadu_ps(weight + j));
            // NaN has to stay NaN: max returns its second operand where one is.
            _mm256_storeu_ps(to + j, _mm256_max_ps(zero, v));
        }
        for (; j < features; ++j) {
            const float v = row[j] * scale * weight[j];
            to[j] = v < 0 ? 0.0f : v;
        }
    }
}
