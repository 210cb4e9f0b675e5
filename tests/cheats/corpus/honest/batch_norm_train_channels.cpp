// accepted: a channel at a time, both moments in double, running statistics in place.
// problem: batch_norm_train
#include <cmath>
#include <cstdint>

extern "C" void by_channel(const float *x, const float *norm_weight, const float *norm_bias, float *norm_running_mean,
                           float *norm_running_var, int64_t *norm_num_batches_tracked, float *out, int64_t batch,
                           int64_t channels, int64_t height, int64_t width) {
    const int64_t plane = height * width, count = batch * plane;
    for (int64_t c = 0; c < channels; ++c) {
        double sum = 0, squares = 0;
        for (int64_t n = 0; n < batch; ++n)
            for (int64_t i = 0; i < plane; ++i) sum += x[(n * channels + c) * plane + i];
        const double mean = sum / double(count);
        for (int64_t n = 0; n < batch; ++n)
            for (int64_t i = 0; i < plane; ++i) {
                const double apart = x[(n * channels + c) * plane + i] - mean;
                squares += apart * apart;
            }
        const double scale = norm_weight[c] / std::sqrt(squares / double(count) + 1e-5);
        for (int64_t n = 0; n < batch; ++n)
            for (int64_t i = 0; i < plane; ++i) {
                const int64_t at = (n * channels + c) * plane + i;
                out[at] = float((x[at] - mean) * scale + norm_bias[c]);
            }
        norm_running_mean[c] = float(0.9 * norm_running_mean[c] + 0.1 * mean);
        norm_running_var[c] = float(0.9 * norm_running_var[c] + 0.1 * (squares / double(count - 1)));
    }
    *norm_num_batches_tracked += 1;
}
