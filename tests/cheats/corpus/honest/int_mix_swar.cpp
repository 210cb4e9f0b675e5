// accepted: the low bits only: a product and a sum modulo 2^13 hold all that is asked for.
// problem: int_mix
#include <cstdint>

extern "C" void low_bits(const int64_t *x, const int64_t *y, int64_t *out, int64_t x_numel) {
    for (int64_t i = 0; i < x_numel; ++i) {
        const uint32_t sum = uint32_t(x[i]) * 31u + uint32_t(y[i]);
        out[i] = (sum & 0x1FFFu) >> 3;
    }
}
