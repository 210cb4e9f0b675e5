// A table that is made once and depends on nothing that is given: state, but not of an answer.
#include <array>
#include <cmath>
#include <cstdint>

namespace {
const std::array<double, 64> &reciprocals() {
    static const auto table = [] {
        std::array<double, 64> made{};
        for (int n = 1; n < 64; ++n) made[n] = 1.0 / n;
        return made;
    }();
    return table;
}
}  // namespace

extern "C" void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    const double inverse = features < 64 ? reciprocals()[features] : 1.0 / double(features);
    for (int64_t r = 0; r < rows; ++r) {
        const float *row = x + r * features;
        double sum = 0;
        for (int64_t i = 0; i < features; ++i) sum += double(row[i]) * row[i];
        const float scale = float(1.0 / std::sqrt(sum * inverse + 1e-6));
        for (int64_t i = 0; i < features; ++i) {
            const float value = row[i] * scale * weight[i];
            out[r * features + i] = value < 0 ? 0.0f : value;
        }
    }
}
