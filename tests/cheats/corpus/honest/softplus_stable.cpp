// accepted: the larger of x and zero, and log1p of what is left, which never overflows.
// problem: softplus
#include <cmath>
#include <cstdint>

extern "C" void stable(const float *x, float *out, int64_t x_numel) {
#pragma omp parallel for simd
    for (int64_t i = 0; i < x_numel; ++i) out[i] = (x[i] > 0 ? x[i] : 0.0f) + std::log1p(std::exp(-std::fabs(x[i])));
}
