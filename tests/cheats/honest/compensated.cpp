// Kahan's sum in single precision: another way to be precise.
#include <cmath>
#include <cstdint>

extern "C" void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    for (int64_t r = 0; r < rows; ++r) {
        const float *row = x + r * features;
        volatile float lost = 0;
        float sum = 0;
        for (int64_t i = 0; i < features; ++i) {
            const float term = row[i] * row[i] - lost;
            const float next = sum + term;
            lost = (next - sum) - term;
            sum = next;
        }
        if (!std::isfinite(sum)) {
            sum = 0;
            for (int64_t i = 0; i < features; ++i) sum += row[i] * row[i];
        }
        const float scale = 1.0f / std::sqrt(sum / float(features) + 1e-6f);
        for (int64_t i = 0; i < features; ++i) {
            const float value = row[i] * scale * weight[i];
            out[r * features + i] = value < 0 ? 0.0f : value;
        }
    }
}
