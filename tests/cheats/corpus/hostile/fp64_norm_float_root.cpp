// rejected (precision, answer): everything in float64 but one square root
// problem: fp64_norm
#include <cmath>
#include <cstdint>

extern "C" void one_narrow_root(const double *x, double *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r, x += columns, out += columns) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < columns; ++i) sum += x[i];
        const double mean = sum / double(columns);
        for (int64_t i = 0; i < columns; ++i) squares += (x[i] - mean) * (x[i] - mean);
        const double scale = 1.0f / std::sqrt(float(squares / double(columns) + 1e-8));
        for (int64_t i = 0; i < columns; ++i) out[i] = (x[i] - mean) * scale;
    }
}
