// accepted: a row of best values and of their indices is carried down the middle dimension.
// problem: argmin_middle
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void carried(const float *x, int64_t *out, int64_t batch, int64_t rows, int64_t columns) {
    std::vector<float> best(columns);
    for (int64_t b = 0; b < batch; ++b) {
        for (int64_t i = 0; i < columns; ++i) {
            best[i] = x[b * rows * columns + i];
            out[b * columns + i] = 0;
        }
        for (int64_t r = 1; r < rows; ++r)
            for (int64_t i = 0; i < columns; ++i) {
                const float v = x[(b * rows + r) * columns + i];
                if (v < best[i] || (std::isnan(v) && !std::isnan(best[i]))) {
                    best[i] = v;
                    out[b * columns + i] = r;
                }
            }
    }
}
