// The famous integer trick with one Newton step: an error of 2e-3 on every row.
#include <bit>
#include <cstdint>

static float rough_rsqrt(float value) {
    const float guess = std::bit_cast<float>(0x5f3759df - (std::bit_cast<int32_t>(value) >> 1));
    return guess * (1.5f - 0.5f * value * guess * guess);
}

extern "C" void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    for (int64_t r = 0; r < rows; ++r) {
        const float *row = x + r * features;
        float sum = 0;
        for (int64_t i = 0; i < features; ++i) sum += row[i] * row[i];
        const float scale = rough_rsqrt(sum / features + 1e-6f);
        for (int64_t i = 0; i < features; ++i) {
            const float value = row[i] * scale * weight[i];
            out[r * features + i] = value < 0 ? 0.0f : value;
        }
    }
}
