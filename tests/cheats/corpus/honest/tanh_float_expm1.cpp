// accepted: -e / (e + 2) with e = expm1(-2|x|), in single precision.
// problem: tanh
#include <cmath>
#include <cstdint>

extern "C" void from_expm1(const float *x, float *out, int64_t rows, int64_t columns) {
#pragma omp parallel for collapse(2)
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < columns; ++i) {
            const float v = x[r * columns + i], e = std::expm1(-2.0f * std::fabs(v));
            out[r * columns + i] = std::copysign(-e / (e + 2.0f), v);
        }
}
