// Uses its input as working memory.
#include <cmath>
#include <cstdint>

extern "C" void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    float *work = const_cast<float *>(x);
    for (int64_t r = 0; r < rows; ++r) {
        float *row = work + r * features;
        double sum = 0;
        for (int64_t i = 0; i < features; ++i) sum += double(row[i]) * row[i];
        const double scale = 1.0 / std::sqrt(sum / features + 1e-6);
        for (int64_t i = 0; i < features; ++i) {
            row[i] = float(row[i] * scale * weight[i]);
            out[r * features + i] = row[i] < 0 ? 0.0f : row[i];
        }
    }
}
