// rejected (precision, answer): the log of one plus an exponential, as written: nothing is left of small ones
// problem: softplus
#include <cmath>
#include <cstdint>

extern "C" void naive(const float *x, float *out, int64_t x_numel) {
    for (int64_t i = 0; i < x_numel; ++i) out[i] = x[i] > 20 ? x[i] : std::log(1.0f + std::exp(x[i]));
}
