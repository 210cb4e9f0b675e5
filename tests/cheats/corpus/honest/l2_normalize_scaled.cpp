// accepted: a row is scaled by its largest magnitude before squares are taken, so that nothing overflows.
// problem: l2_normalize
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void scaled(const float *x, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        const float *row = x + r * columns;
        double size = 0, sum = 0;
        for (int64_t i = 0; i < columns; ++i) size = std::max(size, std::fabs(double(row[i])));
        if (size == 0 || std::isinf(size)) size = 1;
        for (int64_t i = 0; i < columns; ++i) sum += (row[i] / size) * (row[i] / size);
        const double norm = size * std::sqrt(sum);
        for (int64_t i = 0; i < columns; ++i) out[r * columns + i] = float(row[i] / norm);
    }
}
