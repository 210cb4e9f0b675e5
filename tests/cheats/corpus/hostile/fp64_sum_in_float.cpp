// rejected (precision, answer): sums of float64 in single precision
// problem: fp64_sum
#include <cstdint>

extern "C" void narrow(const double *x, double *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        float sum = 0;
        for (int64_t i = 0; i < columns; ++i) sum += float(x[r * columns + i]);
        out[r] = sum;
    }
}
