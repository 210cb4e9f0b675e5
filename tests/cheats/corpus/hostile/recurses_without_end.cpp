// rejected (safety): runs out of stack
// problem: gelu
#include <cmath>
#include <cstdint>

namespace {
__attribute__((noinline)) float deeper(volatile float *place, float v) {
    volatile float room[1024];
    room[0] = v + *place;
    return deeper(room, v + 1) + room[1];
}
}  // namespace

extern "C" void bottomless(const float *x, float *out, int64_t x_numel) {
    volatile float start = x[x_numel - 1];
    out[0] = deeper(&start, x[0]);
}
