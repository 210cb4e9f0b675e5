// accepted: a running sum with its lost part beside it, both in single precision.
// problem: cumsum
#include <cmath>
#include <cstdint>

extern "C" void compensated(const float *x, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        float sum = 0, lost = 0;
        for (int64_t i = 0; i < columns; ++i) {
            const float v = x[r * columns + i];
            const volatile float next = sum + v;
            const volatile float back = next - sum;
            const volatile float rest = next - back;
            const float error = (sum - rest) + (v - back);
            lost += std::isfinite(error) ? error : 0.0f;
            sum = next;
            out[r * columns + i] = sum + lost;
        }
    }
}
