// rejected (precision, answer): the small constant under the root is left out
// problem: rms_relu
#include <cmath>
#include <cstdint>

extern "C" void bare(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    for (int64_t r = 0; r < rows; ++r, x += features, out += features) {
        double sum = 0;
        for (int64_t i = 0; i < features; ++i) sum += double(x[i]) * x[i];
        const double scale = 1 / std::sqrt(sum / double(features));
        for (int64_t i = 0; i < features; ++i) {
            const float v = float(x[i] * scale * weight[i]);
            out[i] = v < 0 ? 0.0f : v;
        }
    }
}
