// Two steps with its own scratch memory between them.
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    std::vector<float> scales(rows);
#pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t i = 0; i < features; ++i) sum += double(x[r * features + i]) * x[r * features + i];
        scales[r] = float(1.0 / std::sqrt(sum / features + 1e-6));
    }
#pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < features; ++i) {
            const float value = x[r * features + i] * scales[r] * weight[i];
            out[r * features + i] = value < 0 ? 0.0f : value;
        }
}
