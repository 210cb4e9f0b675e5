// rejected (answer, precision): leaves out what lies far below the maximum
// problem: wide_softmax
#include <cmath>
#include <cstdint>

extern "C" void truncated(const float *x, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r, x += columns, out += columns) {
        float top = x[0];
        double sum = 0;
        for (int64_t i = 1; i < columns; ++i) top = x[i] > top || std::isnan(x[i]) ? x[i] : top;
        for (int64_t i = 0; i < columns; ++i) sum += out[i] = x[i] < top - 7 ? 0.0f : std::exp(x[i] - top);
        for (int64_t i = 0; i < columns; ++i) out[i] = float(out[i] / sum);
    }
}
