// rejected (precision, answer): the mean of squares less the square of the mean, in single precision
// problem: layer_norm
#include <cmath>
#include <cstdint>

extern "C" void cancelling(const float *x, const float *norm_weight, const float *norm_bias, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r, x += columns, out += columns) {
        float sum = 0, squares = 0;
        for (int64_t i = 0; i < columns; ++i) {
            sum += x[i];
            squares += x[i] * x[i];
        }
        const float mean = sum / float(columns), variance = squares / float(columns) - mean * mean;
        const float scale = 1.0f / std::sqrt((variance < 0 ? 0 : variance) + 1e-5f);
        for (int64_t i = 0; i < columns; ++i) out[i] = (x[i] - mean) * scale * norm_weight[i] + norm_bias[i];
    }
}
