// kernelwright: {"scratch": [{"name": "scales", "dtype": "float32", "shape": ["rows"]}]}
// One function for the rows' factors, another for the elements.
#include <cmath>
#include <cstdint>

extern "C" void factors(const float *x, float *scales, int64_t rows, int64_t features) {
    for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t i = 0; i < features; ++i) sum += double(x[r * features + i]) * x[r * features + i];
        scales[r] = float(1.0 / std::sqrt(sum / features + 1e-6));
    }
}

extern "C" void scaled(const float *x, const float *scales, const float *weight, float *out, int64_t rows, int64_t features) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < features; ++i) {
            const float value = x[r * features + i] * scales[r] * weight[i];
            out[r * features + i] = value < 0 ? 0.0f : value;
        }
}
