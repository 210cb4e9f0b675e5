// accepted: one pass over a row; the sum is rescaled whenever a larger element turns up.
// problem: softmax, in CI
#include <cmath>
#include <cstdint>
#include <limits>

extern "C" void online(const float *x, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r, x += columns, out += columns) {
        float top = -std::numeric_limits<float>::infinity();
        double sum = 0;
        for (int64_t i = 0; i < columns; ++i) {
            const float higher = x[i] > top || std::isnan(x[i]) ? x[i] : top;
            if (higher == -std::numeric_limits<float>::infinity()) continue;
            if (higher != top) sum *= std::exp(double(top) - double(higher));
            sum += std::exp(double(x[i]) - double(higher));
            top = higher;
        }
        for (int64_t i = 0; i < columns; ++i) out[i] = float(std::exp(double(x[i]) - double(top)) / sum);
    }
}
