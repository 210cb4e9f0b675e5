// accepted: tiles of eight columns are held in registers while the middle dimension passes.
// problem: sum_middle
#include <algorithm>
#include <cstdint>

extern "C" void tiles(const float *x, float *out, int64_t batch, int64_t rows, int64_t columns) {
#pragma omp parallel for collapse(2)
    for (int64_t b = 0; b < batch; ++b)
        for (int64_t first = 0; first < columns; first += 8) {
            const int64_t wide = std::min<int64_t>(8, columns - first);
            double held[8] = {};
            for (int64_t r = 0; r < rows; ++r)
                for (int64_t i = 0; i < wide; ++i) held[i] += x[(b * rows + r) * columns + first + i];
            for (int64_t i = 0; i < wide; ++i) out[b * columns + first + i] = float(held[i]);
        }
}
