// accepted: sums within blocks first, then each block is lifted by what stands before it.
// problem: cumsum
#include <algorithm>
#include <cstdint>

extern "C" void lifted(const float *x, float *out, int64_t rows, int64_t columns) {
    constexpr int64_t block = 32;
    for (int64_t r = 0; r < rows; ++r) {
        double before = 0;
        for (int64_t first = 0; first < columns; first += block) {
            const int64_t end = std::min(first + block, columns);
            double inside = 0;
            for (int64_t i = first; i < end; ++i) {
                inside += x[r * columns + i];
                out[r * columns + i] = float(before + inside);
            }
            before += inside;
        }
    }
}
