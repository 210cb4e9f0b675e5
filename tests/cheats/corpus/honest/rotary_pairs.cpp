// accepted: both halves of a row are turned together.
// problem: rotary
#include <cstdint>

extern "C" void pairs(const float *x, const float *cos, const float *sin, float *out, int64_t batch, int64_t length, int64_t half) {
    for (int64_t row = 0; row < batch * length; ++row) {
        const float *c = cos + row % length * 2 * half, *s = sin + row % length * 2 * half;
        const float *from = x + row * 2 * half;
        float *to = out + row * 2 * half;
        for (int64_t i = 0; i < half; ++i) {
            to[i] = from[i] * c[i] - from[i + half] * s[i];
            to[i + half] = from[i + half] * c[i + half] + from[i] * s[i + half];
        }
    }
}
