// accepted: the tangent of a softplus is n / (n + 2) with n = e^x (e^x + 2): one exponential.
// problem: mish
#include <cmath>
#include <cstdint>

extern "C" void rational(const float *x, float *out, int64_t x_numel) {
    for (int64_t i = 0; i < x_numel; ++i) {
        const double v = x[i];
        const double e = std::exp(v > 40 ? 40 : v), n = e * (e + 2);
        out[i] = float(v * (n / (n + 2)));
    }
}
