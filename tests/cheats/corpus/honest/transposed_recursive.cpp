// accepted: halves the longer side until a block fits in a few lines of cache.
// problem: transposed
#include <cstdint>

namespace {
void turn(const float *x, float *out, int64_t rows, int64_t columns, int64_t from, int64_t to) {
    if (rows <= 8 && columns <= 8) {
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c) out[c * to + r] = x[r * from + c];
    } else if (rows >= columns) {
        turn(x, out, rows / 2, columns, from, to);
        turn(x + rows / 2 * from, out + rows / 2, rows - rows / 2, columns, from, to);
    } else {
        turn(x, out, rows, columns / 2, from, to);
        turn(x + columns / 2, out + columns / 2 * to, rows, columns - columns / 2, from, to);
    }
}
}  // namespace

extern "C" void without_a_cache_size(const float *x, float *out, int64_t rows, int64_t columns) {
    turn(x, out, rows, columns, columns, rows);
}
