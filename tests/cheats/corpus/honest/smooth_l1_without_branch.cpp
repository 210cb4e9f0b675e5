// accepted: half of m * (2d - m), with m the smaller of d and one.
// problem: smooth_l1
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void smooth(const float *given, const float *target, float *out, int64_t given_numel) {
    double sum = 0;
    for (int64_t i = 0; i < given_numel; ++i) {
        const double d = std::fabs(double(given[i]) - double(target[i]));
        const double m = std::min(1.0, d);
        sum += 0.5 * m * (2 * d - m);
    }
    *out = float(sum / double(given_numel));
}
