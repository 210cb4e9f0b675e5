#include <cstdint>

extern "C" void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    for (volatile int64_t i = 0; i >= 0;) i = 1;
}
