// accepted: parts of the sum from each thread into scratch, then a function that divides.
// problem: frobenius
// kernelwright: {"scratch": [{"name": "parts", "dtype": "float64", "shape": ["rows"]}]}
#include <cmath>
#include <cstdint>

extern "C" void squares(const float *x, double *parts, int64_t rows, int64_t columns) {
#pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t i = r * columns; i < (r + 1) * columns; ++i) sum += double(x[i]) * x[i];
        parts[r] = sum;
    }
}

extern "C" void divide(const float *x, const double *parts, float *out, int64_t rows, int64_t columns) {
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) sum += parts[r];
    const double norm = std::sqrt(sum);
#pragma omp parallel for
    for (int64_t i = 0; i < rows * columns; ++i) out[i] = float(x[i] / norm);
}
