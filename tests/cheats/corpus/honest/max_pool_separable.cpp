// accepted: largest of three along rows into a strip, then of three rows of it.
// problem: max_pool
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {
float larger(float a, float b) { return a > b || std::isnan(a) ? a : b; }
}  // namespace

extern "C" void separable(const float *x, float *out, int64_t batch, int64_t channels, int64_t height, int64_t width) {
    const int64_t high = (height + 1) / 2, wide = (width + 1) / 2;
    std::vector<float> strip(height * wide);
    for (int64_t n = 0; n < batch * channels; ++n, x += height * width, out += high * wide) {
        for (int64_t r = 0; r < height; ++r)
            for (int64_t c = 0; c < wide; ++c) {
                float top = x[r * width + 2 * c];
                if (c > 0) top = larger(top, x[r * width + 2 * c - 1]);
                if (2 * c + 1 < width) top = larger(top, x[r * width + 2 * c + 1]);
                strip[r * wide + c] = top;
            }
        for (int64_t r = 0; r < high; ++r)
            for (int64_t c = 0; c < wide; ++c) {
                float top = strip[2 * r * wide + c];
                if (r > 0) top = larger(top, strip[(2 * r - 1) * wide + c]);
                if (2 * r + 1 < height) top = larger(top, strip[(2 * r + 1) * wide + c]);
                out[r * wide + c] = top;
            }
    }
}
