// rejected (safety): asks for a terabyte, and does not catch what it gets
// problem: gelu
#include <cstdint>
#include <vector>

extern "C" void terabyte(const float *x, float *out, int64_t x_numel) {
    std::vector<float> scratch(int64_t(1) << 38, x[0]);
    out[0] = scratch[x_numel];
}
