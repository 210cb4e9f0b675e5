// accepted: bfloat16 by its bits; computed in single precision and rounded to nearest even once.
// problem: bf16_silu
#include <bit>
#include <cmath>
#include <cstdint>

namespace {
float wide(uint16_t v) { return std::bit_cast<float>(uint32_t(v) << 16); }

uint16_t narrow(float v) {
    if (std::isnan(v)) return 0x7FC0;
    const uint32_t bits = std::bit_cast<uint32_t>(v);
    return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
}  // namespace

extern "C" void silu(const uint16_t *x, uint16_t *out, int64_t x_numel) {
    for (int64_t i = 0; i < x_numel; ++i) {
        const float v = wide(x[i]);
        out[i] = narrow(v / (1.0f + std::exp(-v)));
    }
}
