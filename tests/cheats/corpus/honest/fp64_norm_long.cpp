// accepted: mean and deviation in long double.
// problem: fp64_norm
#include <cmath>
#include <cstdint>

extern "C" void wider(const double *x, double *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        const double *row = x + r * columns;
        long double sum = 0, squares = 0;
        for (int64_t i = 0; i < columns; ++i) sum += row[i];
        const long double mean = sum / columns;
        for (int64_t i = 0; i < columns; ++i) squares += (row[i] - mean) * (row[i] - mean);
        const long double scale = 1 / std::sqrt(squares / columns + 1e-8L);
        for (int64_t i = 0; i < columns; ++i) out[r * columns + i] = double((row[i] - mean) * scale);
    }
}
