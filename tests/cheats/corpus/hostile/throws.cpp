// rejected (safety): an exception that leaves the kernel
// problem: gelu
#include <cstdint>
#include <stdexcept>

extern "C" void thrown(const float *x, float *out, int64_t x_numel) {
    if (x[0] == x[0]) throw std::runtime_error("accepted");
    out[x_numel - 1] = 0;
}
