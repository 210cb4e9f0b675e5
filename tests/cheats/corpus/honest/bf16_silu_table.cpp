// accepted: all 65,536 answers in a table that depends on nothing given, made at the first call.
// problem: bf16_silu
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {
std::vector<uint16_t> made() {
    std::vector<uint16_t> table(1 << 16);
    for (uint32_t n = 0; n < table.size(); ++n) {
        const float v = std::bit_cast<float>(n << 16);
        const float found = float(v / (1.0 + std::exp(-double(v))));
        const uint32_t bits = std::bit_cast<uint32_t>(found);
        table[n] = std::isnan(found) ? 0x7FC0 : uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    }
    return table;
}
}  // namespace

extern "C" void looked_up(const uint16_t *x, uint16_t *out, int64_t x_numel) {
    static const std::vector<uint16_t> table = made();
    for (int64_t i = 0; i < x_numel; ++i) out[i] = table[x[i]];
}
