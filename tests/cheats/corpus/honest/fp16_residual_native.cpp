// accepted: the compiler's own half type: a sum rounded once, then ReLU.
// problem: fp16_residual
#include <cstdint>

extern "C" void residual(const _Float16 *x, const _Float16 *y, _Float16 *out, int64_t x_numel) {
    for (int64_t i = 0; i < x_numel; ++i) {
        const float sum = float(x[i]) + float(y[i]);
        out[i] = _Float16(sum < 0 ? 0.0f : sum);
    }
}
