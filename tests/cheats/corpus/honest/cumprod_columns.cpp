// accepted: all rows go along together, a column at a time.
// problem: cumprod
#include <cstdint>
#include <vector>

extern "C" void abreast(const float *x, float *out, int64_t rows, int64_t columns) {
    std::vector<double> so_far(rows, 1.0);
    for (int64_t i = 0; i < columns; ++i)
        for (int64_t r = 0; r < rows; ++r) out[r * columns + i] = float(so_far[r] *= x[r * columns + i]);
}
