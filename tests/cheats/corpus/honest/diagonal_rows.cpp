// accepted: each row times its factor; of the zeros beside the diagonal only their product with a non-finite counts.
// problem: diagonal
#include <cmath>
#include <cstdint>

extern "C" void rows_by_factor(const float *a, const float *b, float *out, int64_t size, int64_t columns) {
    for (int64_t c = 0; c < columns; ++c) {
        int64_t odd = 0;
        for (int64_t r = 0; r < size; ++r) odd += !std::isfinite(b[r * columns + c]);
        for (int64_t r = 0; r < size; ++r) {
            const float v = b[r * columns + c];
            const bool elsewhere = odd > (std::isfinite(v) ? 0 : 1);
            out[r * columns + c] = elsewhere ? NAN : a[r] * v;
        }
    }
}
