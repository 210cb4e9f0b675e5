// accepted: keys and values pass once; the weighted sum is rescaled whenever the maximum moves.
// problem: attention
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void streamed(const float *q, const float *k, const float *v, float *out, int64_t batch, int64_t length, int64_t width) {
    std::vector<double> held(width);
    for (int64_t row = 0; row < batch * length; ++row) {
        const int64_t start = row / length * length;
        double top = -INFINITY, sum = 0;
        held.assign(width, 0.0);
        for (int64_t key = start; key < start + length; ++key) {
            double score = 0;
            for (int64_t i = 0; i < width; ++i) score += double(q[row * width + i]) * k[key * width + i];
            score *= 0.25;
            const double higher = std::isnan(score) ? score : std::max(top, score);
            const double keep = higher == top ? 1.0 : std::exp(top - higher), share = std::exp(score - higher);
            sum = sum * keep + share;
            for (int64_t i = 0; i < width; ++i) held[i] = held[i] * keep + share * v[key * width + i];
            top = higher;
        }
        for (int64_t i = 0; i < width; ++i) out[row * width + i] = float(held[i] / sum);
    }
}
