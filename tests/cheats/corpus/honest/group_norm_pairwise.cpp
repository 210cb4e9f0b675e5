// accepted: sums by halving, in single precision, of the group's elements and of squared distances.
// problem: group_norm
#include <cmath>
#include <cstdint>

namespace {
float halves(const float *x, int64_t count, float mean) {
    if (count > 32) return halves(x, count / 2, mean) + halves(x + count / 2, count - count / 2, mean);
    float sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

float plain(const float *x, int64_t count) {
    if (count > 32) return plain(x, count / 2) + plain(x + count / 2, count - count / 2);
    float sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += x[i];
    return sum;
}
}  // namespace

extern "C" void halving(const float *x, const float *norm_weight, const float *norm_bias, float *out, int64_t batch,
                        int64_t channels, int64_t height, int64_t width) {
    const int64_t plane = height * width, each = channels / 4, size = each * plane;
    for (int64_t g = 0; g < batch * 4; ++g) {
        const float *from = x + g * size;
        const float mean = plain(from, size) / float(size);
        const float scale = 1.0f / std::sqrt(halves(from, size, mean) / float(size) + 1e-5f);
        for (int64_t i = 0; i < size; ++i) {
            const int64_t c = g % 4 * each + i / plane;
            out[g * size + i] = (from[i] - mean) * scale * norm_weight[c] + norm_bias[c];
        }
    }
}
