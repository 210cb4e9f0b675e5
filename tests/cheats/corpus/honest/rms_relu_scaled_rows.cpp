// accepted: a row and its weight are multiplied on the way out; sums of four accumulators in double.
// problem: rms_relu
#include <cmath>
#include <cstdint>

extern "C" void scaled_rows(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    for (int64_t r = 0; r < rows; ++r, x += features, out += features) {
        double sums[4] = {};
        for (int64_t i = 0; i < features; ++i) sums[i % 4] += double(x[i]) * x[i];
        const double scale = 1 / std::sqrt((sums[0] + sums[1] + sums[2] + sums[3]) / double(features) + 1e-6);
        for (int64_t i = 0; i < features; ++i) {
            const double value = x[i] * scale * weight[i];
            out[i] = float(value < 0 ? 0.0 : value);
        }
    }
}
