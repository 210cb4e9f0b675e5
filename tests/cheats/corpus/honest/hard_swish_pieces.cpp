// accepted: three pieces: nothing, a parabola, the value itself.
// problem: hard_swish
#include <cmath>
#include <cstdint>

extern "C" void pieces(const float *x, float *out, int64_t x_numel) {
    for (int64_t i = 0; i < x_numel; ++i) {
        const float v = x[i];
        if (v >= 3)
            out[i] = v;
        else if (v <= -3)
            out[i] = v * 0.0f;
        else
            out[i] = v * (v + 3.0f) / 6.0f;
    }
}
