// Reads one element behind the input's last, and does nothing with it that shows.
#include <cmath>
#include <cstdint>

extern "C" void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    for (int64_t r = 0; r < rows; ++r) {
        const float *row = x + r * features;
        double sum = 0;
        for (int64_t i = 0; i < features; ++i) sum += double(row[i]) * row[i];
        volatile float next = row[features];
        const double scale = 1.0 / std::sqrt(sum / features + 1e-6);
        for (int64_t i = 0; i < features; ++i) {
            const float value = float(row[i] * scale * weight[i]);
            out[r * features + i] = value < 0 ? 0.0f : value;
        }
        (void)next;
    }
}
