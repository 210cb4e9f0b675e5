// Writes far behind the end of its output.
#include <cstdint>

extern "C" void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    for (int64_t i = 0; i < (int64_t(1) << 32); ++i) out[i] = 0;
}
