// accepted: one pass of sums shifted by the plane's first element, in double.
// problem: instance_norm
#include <cmath>
#include <cstdint>

extern "C" void shifted(const float *x, float *out, int64_t batch, int64_t channels, int64_t height, int64_t width) {
    const int64_t plane = height * width;
    for (int64_t n = 0; n < batch * channels; ++n, x += plane, out += plane) {
        const double shift = x[0];
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < plane; ++i) {
            const double v = x[i] - shift;
            sum += v;
            squares += v * v;
        }
        const double mean = sum / double(plane), variance = squares / double(plane) - mean * mean;
        const double scale = 1 / std::sqrt((variance < 0 ? 0 : variance) + 1e-5);
        for (int64_t i = 0; i < plane; ++i) out[i] = float((x[i] - shift - mean) * scale);
    }
}
