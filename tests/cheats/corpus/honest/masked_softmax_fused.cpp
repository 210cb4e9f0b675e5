// accepted: mask, maximum, sum and quotient in one function, with the masked row in the output's memory.
// problem: masked_softmax
#include <cmath>
#include <cstdint>

extern "C" void fused(const float *x, const bool *mask, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        float *row = out + r * columns;
        for (int64_t i = 0; i < columns; ++i) row[i] = mask[r * columns + i] ? -1e9f : x[r * columns + i];
        double top = row[0], sum = 0;
        for (int64_t i = 1; i < columns; ++i) top = row[i] > top || std::isnan(row[i]) ? row[i] : top;
        for (int64_t i = 0; i < columns; ++i) sum += std::exp(row[i] - top);
        for (int64_t i = 0; i < columns; ++i) row[i] = float(std::exp(row[i] - top) / sum);
    }
}
