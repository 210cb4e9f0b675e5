// accepted: reads mask and bias although they happen to be neutral.
// problem: scaled_by_ones
#include <cstdint>

extern "C" void all_read(const float *x, const float *mask, const float *bias, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
            const float v = x[r * columns + c] * mask[r * columns + c] + bias[c];
            out[r * columns + c] = v < 0 ? 0.0f : v;
        }
}
