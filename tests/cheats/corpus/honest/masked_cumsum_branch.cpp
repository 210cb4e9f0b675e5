// accepted: what the mask shuts out is still multiplied by zero, so that an infinity there stays seen.
// problem: masked_cumsum
#include <cstdint>

extern "C" void masked(const float *x, const bool *mask, float *out, int64_t rows, int64_t columns) {
    for (int64_t at = 0, r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t i = 0; i < columns; ++i, ++at) out[at] = float(sum += mask[at] ? double(x[at]) : double(x[at]) * 0.0);
    }
}
