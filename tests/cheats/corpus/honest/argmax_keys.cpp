// accepted: each element becomes one integer whose order is that of value and index, and the largest wins.
// problem: argmax
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace {
/// An integer that orders like the float; NaN above all; both zeros alike.
uint32_t ordered(float v) {
    if (std::isnan(v)) return 0xFFFFFFFFu;
    const uint32_t bits = std::bit_cast<uint32_t>(v + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
}  // namespace

extern "C" void by_keys(const float *x, int64_t *out, int64_t rows, int64_t columns) {
#pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        uint64_t best = 0;
        for (int64_t i = 0; i < columns; ++i)
            best = std::max(best, uint64_t(ordered(x[r * columns + i])) << 32 | (0xFFFFFFFFu - uint32_t(i)));
        out[r] = int64_t(0xFFFFFFFFu - uint32_t(best));
    }
}
