// accepted: half of x times the complementary error function, which loses nothing in the negative tail.
// problem: gelu
#include <cmath>
#include <cstdint>
#include <numbers>

extern "C" void complement(const float *x, float *out, int64_t x_numel) {
    constexpr double scale = -1 / std::numbers::sqrt2;
#pragma omp parallel for
    for (int64_t i = 0; i < x_numel; ++i) out[i] = float(0.5 * x[i] * std::erfc(scale * x[i]));
}
