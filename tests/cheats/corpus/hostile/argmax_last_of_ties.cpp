// rejected (answer): of equal elements the last, where the reference has the first
// problem: argmax
#include <cmath>
#include <cstdint>

extern "C" void last_of_ties(const float *x, int64_t *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        const float *row = x + r * columns;
        int64_t best = 0;
        for (int64_t i = 1; i < columns; ++i)
            if (!(row[i] < row[best]) && !std::isnan(row[best])) best = i;
        out[r] = best;
    }
}
