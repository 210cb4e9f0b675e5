// rejected (precision, answer): a quotient of short polynomials, clamped
// problem: tanh
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void rational(const float *x, float *out, int64_t x_numel) {
    for (int64_t i = 0; i < x_numel; ++i) {
        const float v = std::isnan(x[i]) ? x[i] : std::clamp(x[i], -4.97f, 4.97f), s = v * v;
        out[i] = v * (135135.0f + s * (17325.0f + s * (378.0f + s))) / (135135.0f + s * (62370.0f + s * (3150.0f + s * 28.0f)));
    }
}
