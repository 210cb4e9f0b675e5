// accepted: a continued fraction near zero, exponentials elsewhere, in double.
// problem: tanh
#include <cmath>
#include <cstdint>

namespace {
double tangent(double v) {
    const double s = v * v;
    if (s < 0.25) {
        double below = 15;
        for (int odd = 13; odd >= 1; odd -= 2) below = odd + s / below;
        return v / below;
    }
    if (std::fabs(v) > 20) return std::copysign(1.0, v);
    const double e = std::exp(2 * v);
    return (e - 1) / (e + 1);
}
}  // namespace

extern "C" void fractions(const float *x, float *out, int64_t x_numel) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = std::isnan(x[i]) ? x[i] : float(tangent(x[i]));
}
