// rejected (answer, contract, precision): right outputs; the running variance is moved by the biased one
// problem: batch_norm_train
#include <cmath>
#include <cstdint>

extern "C" void biased(const float *x, const float *norm_weight, const float *norm_bias, float *norm_running_mean,
                       float *norm_running_var, int64_t *norm_num_batches_tracked, float *out, int64_t batch,
                       int64_t channels, int64_t height, int64_t width) {
    const int64_t plane = height * width, count = batch * plane;
    for (int64_t c = 0; c < channels; ++c) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < count; ++i) sum += x[(i / plane * channels + c) * plane + i % plane];
        const double mean = sum / double(count);
        for (int64_t i = 0; i < count; ++i) {
            const double apart = x[(i / plane * channels + c) * plane + i % plane] - mean;
            squares += apart * apart;
        }
        const double variance = squares / double(count), scale = norm_weight[c] / std::sqrt(variance + 1e-5);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t at = (i / plane * channels + c) * plane + i % plane;
            out[at] = float((x[at] - mean) * scale + norm_bias[c]);
        }
        norm_running_mean[c] = float(0.9 * norm_running_mean[c] + 0.1 * mean);
        norm_running_var[c] = float(0.9 * norm_running_var[c] + 0.1 * variance);
    }
    *norm_num_batches_tracked += 1;
}
