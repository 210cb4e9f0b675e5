// accepted: square roots by an integer guess and four of Newton's steps in double, ordinary values only.
// problem: positive_sqrt
#include <bit>
#include <cmath>
#include <cstdint>

namespace {
double root(float size) {
    if (!(size > 1e-30f && size < 1e30f)) return std::sqrt(size);
    double guess = std::bit_cast<float>((std::bit_cast<int32_t>(size) >> 1) + (127 << 22));
    for (int n = 0; n < 5; ++n) guess = 0.5 * (guess + size / guess);
    return guess;
}
}  // namespace

extern "C" void signed_roots(const float *x, float *out, int64_t x_numel) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = std::copysign(float(root(std::fabs(x[i]))), x[i]);
}
