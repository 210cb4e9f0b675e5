// rejected (answer, precision, work): writes the first of two results
// problem: two_results
#include <cstdint>

extern "C" void first_of_two(const float *x, float *out0, float *out1, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t i = 0; i < columns; ++i) sum += x[r * columns + i];
        out0[r] = float(sum / double(columns));
    }
}
