// accepted: logistic values of a block on the stack first, then the products.
// problem: swiglu
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

extern "C" void blocks(const float *gate, const float *up, float *out, int64_t gate_numel) {
    std::array<float, 256> part;
    for (int64_t first = 0; first < gate_numel; first += 256) {
        const int64_t count = std::min<int64_t>(256, gate_numel - first);
        for (int64_t i = 0; i < count; ++i) part[i] = gate[first + i] / (1.0f + std::exp(-gate[first + i]));
        for (int64_t i = 0; i < count; ++i) out[first + i] = part[i] * up[first + i];
    }
}
