// accepted: the second matrix is turned into scratch, then each element is one dot product of contiguous rows.
// problem: matmul
// kernelwright: {"scratch": [{"name": "turned", "dtype": "float32", "shape": ["columns", "inner"]}]}
#include <cstdint>

extern "C" void turn(const float *b, float *turned, int64_t inner, int64_t columns) {
    for (int64_t k = 0; k < inner; ++k)
        for (int64_t c = 0; c < columns; ++c) turned[c * inner + k] = b[k * columns + c];
}

extern "C" void dots(const float *a, const float *turned, float *out, int64_t rows, int64_t inner, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
            float sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t k = 0; k < inner; ++k) sum += a[r * inner + k] * turned[c * inner + k];
            out[r * columns + c] = sum;
        }
}
