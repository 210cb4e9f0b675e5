// rejected (answer, precision): borders are padded with zeros, which are larger than what is negative
// problem: max_pool
#include <cmath>
#include <cstdint>

extern "C" void padded_with_zeros(const float *x, float *out, int64_t batch, int64_t channels, int64_t height, int64_t width) {
    const int64_t high = (height + 1) / 2, wide = (width + 1) / 2;
    for (int64_t i = 0; i < batch * channels * high * wide; ++i) {
        const int64_t n = i / (high * wide), r = i / wide % high, c = i % wide;
        float top = -INFINITY;
        for (int64_t y = 2 * r - 1; y <= 2 * r + 1; ++y)
            for (int64_t z = 2 * c - 1; z <= 2 * c + 1; ++z) {
                const bool inside = y >= 0 && y < height && z >= 0 && z < width;
                const float v = inside ? x[(n * height + y) * width + z] : 0.0f;
                top = v > top || std::isnan(v) ? v : top;
            }
        out[i] = top;
    }
}
