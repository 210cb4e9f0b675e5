// accepted: one half and half a hyperbolic tangent for ordinary values, an exponential in the negative tail.
// problem: sigmoid
#include <cmath>
#include <cstdint>

extern "C" void logistic(const float *x, float *out, int64_t rows, int64_t columns) {
    for (int64_t i = rows * columns - 1; i >= 0; --i) {
        const double v = x[i];
        out[i] = float(v < -1 ? std::exp(v) / (1 + std::exp(v)) : 0.5 + 0.5 * std::tanh(0.5 * v));
    }
}
