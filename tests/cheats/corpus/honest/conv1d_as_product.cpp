// accepted: windows are laid out as columns, and multiplied by the weights; sums in double.
// problem: conv1d
#include <cstdint>
#include <vector>

extern "C" void unfolded(const float *x, const float *conv_weight, const float *conv_bias, float *out, int64_t batch, int64_t length) {
    constexpr int64_t in = 6, width = 5, pad = 2, filters = 10;
    std::vector<float> windows(in * width * length);
    for (int64_t n = 0; n < batch; ++n) {
        for (int64_t c = 0; c < in; ++c)
            for (int64_t k = 0; k < width; ++k)
                for (int64_t i = 0; i < length; ++i) {
                    const int64_t at = i + k - pad;
                    windows[(c * width + k) * length + i] = at < 0 || at >= length ? 0.0f : x[(n * in + c) * length + at];
                }
        for (int64_t f = 0; f < filters; ++f)
            for (int64_t i = 0; i < length; ++i) {
                double sum = conv_bias[f];
                for (int64_t k = 0; k < in * width; ++k) sum += double(conv_weight[f * in * width + k]) * windows[k * length + i];
                out[(n * filters + f) * length + i] = float(sum);
            }
    }
}
