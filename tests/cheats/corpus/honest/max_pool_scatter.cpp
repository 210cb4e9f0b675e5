// accepted: goes over what is given, and raises each of the windows that an element lies in.
// problem: max_pool
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void scattered(const float *x, float *out, int64_t batch, int64_t channels, int64_t height, int64_t width) {
    const int64_t high = (height + 1) / 2, wide = (width + 1) / 2;
#pragma omp parallel for
    for (int64_t n = 0; n < batch * channels; ++n) {
        float *to = out + n * high * wide;
        std::fill_n(to, high * wide, -INFINITY);
        for (int64_t r = 0; r < height; ++r)
            for (int64_t c = 0; c < width; ++c) {
                const float v = x[(n * height + r) * width + c];
                for (int64_t i = r / 2; i <= std::min((r + 1) / 2, high - 1); ++i)
                    for (int64_t j = c / 2; j <= std::min((c + 1) / 2, wide - 1); ++j)
                        if (v > to[i * wide + j] || std::isnan(v)) to[i * wide + j] = v;
            }
    }
}
