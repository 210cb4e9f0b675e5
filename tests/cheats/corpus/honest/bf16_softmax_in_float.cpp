// accepted: sums of exponentials in single precision over eight lanes; only the result is bfloat16.
// problem: bf16_softmax
#include <bit>
#include <cmath>
#include <cstdint>

namespace {
float wide(uint16_t v) { return std::bit_cast<float>(uint32_t(v) << 16); }
uint16_t narrow(float v) {
    const uint32_t bits = std::bit_cast<uint32_t>(v);
    return std::isnan(v) ? 0x7FC0 : uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
}  // namespace

extern "C" void softmax(const uint16_t *x, uint16_t *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        const uint16_t *row = x + r * columns;
        float top = wide(row[0]), lanes[8] = {};
        for (int64_t i = 1; i < columns; ++i) top = wide(row[i]) > top || std::isnan(wide(row[i])) ? wide(row[i]) : top;
        for (int64_t i = 0; i < columns; ++i) lanes[i % 8] += std::exp(wide(row[i]) - top);
        float sum = 0;
        for (float lane : lanes) sum += lane;
        for (int64_t i = 0; i < columns; ++i) out[r * columns + i] = narrow(std::exp(wide(row[i]) - top) / sum);
    }
}
