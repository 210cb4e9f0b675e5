// accepted: the buffer moves first, column by column, then the differences are taken from it.
// problem: moving_average
#include <cstdint>

extern "C" void follow(const float *x, float *average, int64_t rows, int64_t columns) {
    for (int64_t c = 0; c < columns; ++c) {
        double sum = 0;
        for (int64_t r = 0; r < rows; ++r) sum += x[r * columns + c];
        average[c] = float(0.9 * average[c] + 0.1 * (sum / double(rows)));
    }
}

extern "C" void centre(const float *x, const float *average, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) out[r * columns + c] = x[r * columns + c] - average[c];
}
