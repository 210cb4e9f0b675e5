// accepted: three functions: moments, running statistics, elements; scratch between them.
// problem: batch_norm_train
// kernelwright: {"scratch": [{"name": "means", "dtype": "float64", "shape": ["channels"]},
//   {"name": "variances", "dtype": "float64", "shape": ["channels"]}]}
#include <cmath>
#include <cstdint>

extern "C" void moments(const float *x, double *means, double *variances, int64_t batch, int64_t channels, int64_t height, int64_t width) {
    const int64_t plane = height * width;
#pragma omp parallel for
    for (int64_t c = 0; c < channels; ++c) {
        double sum = 0, squares = 0;
        for (int64_t n = 0; n < batch; ++n)
            for (int64_t i = 0; i < plane; ++i) sum += x[(n * channels + c) * plane + i];
        const double mean = sum / double(batch * plane);
        for (int64_t n = 0; n < batch; ++n)
            for (int64_t i = 0; i < plane; ++i) {
                const double step = x[(n * channels + c) * plane + i] - mean;
                squares += step * step;
            }
        means[c] = mean;
        variances[c] = squares / double(batch * plane);
    }
}

extern "C" void follow(const double *means, const double *variances, float *norm_running_mean, float *norm_running_var,
                       int64_t *norm_num_batches_tracked, int64_t batch, int64_t channels, int64_t height, int64_t width) {
    const double count = double(batch * height * width);
    for (int64_t c = 0; c < channels; ++c) {
        norm_running_mean[c] += float(0.1 * (means[c] - norm_running_mean[c]));
        norm_running_var[c] += float(0.1 * (variances[c] * count / (count - 1) - norm_running_var[c]));
    }
    ++norm_num_batches_tracked[0];
}

extern "C" void elements(const float *x, const double *means, const double *variances, const float *norm_weight,
                         const float *norm_bias, float *out, int64_t batch, int64_t channels, int64_t height, int64_t width) {
    for (int64_t nc = 0; nc < batch * channels; ++nc) {
        const int64_t c = nc % channels;
        const double scale = 1 / std::sqrt(variances[c] + 1e-5);
        for (int64_t i = nc * height * width; i < (nc + 1) * height * width; ++i)
            out[i] = float((x[i] - means[c]) * scale * norm_weight[c] + norm_bias[c]);
    }
}
