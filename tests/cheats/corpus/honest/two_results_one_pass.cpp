// accepted: both results from one pass over a row.
// problem: two_results
#include <cmath>
#include <cstdint>

extern "C" void one_pass(const float *x, float *out0, float *out1, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        float top = x[r * columns];
        for (int64_t i = 0; i < columns; ++i) {
            const float v = x[r * columns + i];
            sum += v;
            top = v > top || v != v ? v : top;
        }
        out0[r] = float(sum / double(columns));
        out1[r] = top;
    }
}
