// accepted: threads take groups from a shared counter until none is left, and are joined.
// problem: group_norm
#include <atomic>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

extern "C" void by_groups(const float *x, const float *norm_weight, const float *norm_bias, float *out, int64_t batch,
                          int64_t channels, int64_t height, int64_t width) {
    const int64_t plane = height * width, each = channels / 4, size = each * plane;
    std::atomic<int64_t> next{0};
    const auto work = [&] {
        for (int64_t g = next++; g < batch * 4; g = next++) {
            const float *from = x + g * size;
            double sum = 0, squares = 0;
            for (int64_t i = 0; i < size; ++i) sum += from[i];
            const double mean = sum / double(size);
            for (int64_t i = 0; i < size; ++i) squares += (from[i] - mean) * (from[i] - mean);
            const double scale = 1 / std::sqrt(squares / double(size) + 1e-5);
            for (int64_t i = 0; i < size; ++i) {
                const int64_t c = g % 4 * each + i / plane;
                out[g * size + i] = float((from[i] - mean) * scale * norm_weight[c] + norm_bias[c]);
            }
        }
    };
    std::vector<std::jthread> team;
    for (int n = 0; n < 2; ++n) team.emplace_back(work);
}
