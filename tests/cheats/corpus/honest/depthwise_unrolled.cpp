// accepted: the nine weights of a channel in registers, borders by a clamped range of taps.
// problem: depthwise
#include <algorithm>
#include <cstdint>

extern "C" void nine_taps(const float *x, const float *conv_weight, float *out, int64_t batch, int64_t height, int64_t width) {
#pragma omp parallel for
    for (int64_t n = 0; n < batch * 8; ++n) {
        const float *plane = x + n * height * width, *w = conv_weight + n % 8 * 9;
        for (int64_t r = 0; r < height; ++r)
            for (int64_t c = 0; c < width; ++c) {
                float sum = 0;
                for (int64_t i = std::max<int64_t>(0, 1 - r); i < std::min<int64_t>(3, height + 1 - r); ++i)
                    for (int64_t j = std::max<int64_t>(0, 1 - c); j < std::min<int64_t>(3, width + 1 - c); ++j)
                        sum += w[3 * i + j] * plane[(r + i - 1) * width + c + j - 1];
                out[(n * height + r) * width + c] = sum;
            }
    }
}
