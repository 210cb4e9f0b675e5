// accepted: Welford's running mean and squares, in double.
// problem: layer_norm
#include <cmath>
#include <cstdint>

extern "C" void welford(const float *x, const float *norm_weight, const float *norm_bias, float *out, int64_t rows, int64_t columns) {
#pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        const float *row = x + r * columns;
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < columns; ++i) {
            const double step = row[i] - mean;
            mean += step / double(i + 1);
            squares += step * (row[i] - mean);
        }
        const double scale = 1 / std::sqrt(squares / double(columns) + 1e-5);
        for (int64_t i = 0; i < columns; ++i)
            out[r * columns + i] = float((row[i] - mean) * scale * norm_weight[i] + norm_bias[i]);
    }
}
