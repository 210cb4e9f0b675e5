// accepted: weights and statistics become one factor and one summand for each channel, when weights change.
// problem: batch_norm_eval, in CI
// kernelwright: {"plan": {"buffers": [
//   {"name": "x", "role": "input", "dtype": "float32", "shape": ["batch", "channels", "height", "width"]},
//   {"name": "norm.weight", "role": "weight", "dtype": "float32", "shape": ["channels"]},
//   {"name": "norm.bias", "role": "weight", "dtype": "float32", "shape": ["channels"]},
//   {"name": "norm.running_mean", "role": "weight", "dtype": "float32", "shape": ["channels"]},
//   {"name": "norm.running_var", "role": "weight", "dtype": "float32", "shape": ["channels"]},
//   {"name": "factors", "role": "prepared", "dtype": "float64", "shape": ["channels", 2]},
//   {"name": "out", "role": "output", "dtype": "float32", "shape": ["batch", "channels", "height", "width"]}],
//  "prepare": [{"kind": "call", "entry": "fold", "args": [
//   {"kind": "buffer", "buffer": "norm.weight"}, {"kind": "buffer", "buffer": "norm.bias"},
//   {"kind": "buffer", "buffer": "norm.running_mean"}, {"kind": "buffer", "buffer": "norm.running_var"},
//   {"kind": "buffer", "buffer": "factors"}, {"kind": "int", "value": "channels"}]}],
//  "run": [{"kind": "call", "entry": "apply", "args": [
//   {"kind": "buffer", "buffer": "x"}, {"kind": "buffer", "buffer": "factors"}, {"kind": "buffer", "buffer": "out"},
//   {"kind": "int", "value": "batch"}, {"kind": "int", "value": "channels"}, {"kind": "int", "value": "height * width"}]}]}}
#include <cmath>
#include <cstdint>

extern "C" void fold(const float *weight, const float *bias, const float *mean, const float *variance, double *factors, int64_t channels) {
    for (int64_t c = 0; c < channels; ++c) {
        factors[2 * c] = weight[c] / std::sqrt(double(variance[c]) + 1e-5);
        factors[2 * c + 1] = bias[c] - mean[c] * factors[2 * c];
    }
}

extern "C" void apply(const float *x, const double *factors, float *out, int64_t batch, int64_t channels, int64_t plane) {
    for (int64_t n = 0; n < batch; ++n)
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t i = 0; i < plane; ++i, ++x, ++out) {
                const double value = *x * factors[2 * c] + factors[2 * c + 1];
                *out = float(value < 0 ? 0.0 : value);
            }
}
