// accepted: a scan by doubling distances, over a row of doubles: as many passes as the length has bits.
// problem: cumsum
#include <cstdint>
#include <vector>

extern "C" void doubling(const float *x, float *out, int64_t rows, int64_t columns) {
    std::vector<double> now(columns), next(columns);
    for (int64_t r = 0; r < rows; ++r) {
        now.assign(x + r * columns, x + (r + 1) * columns);
        for (int64_t apart = 1; apart < columns; apart *= 2) {
            for (int64_t i = 0; i < columns; ++i) next[i] = i < apart ? now[i] : now[i] + now[i - apart];
            now.swap(next);
        }
        for (int64_t i = 0; i < columns; ++i) out[r * columns + i] = float(now[i]);
    }
}
