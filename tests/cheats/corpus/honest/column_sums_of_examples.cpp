// accepted: each thread keeps columns of its own; blocks of rows are summed in single precision, blocks in double.
// problem: examples/column_sum_squares
#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" void blocks_of_rows(const float *x, float *out, int64_t tokens, int64_t features) {
#pragma omp parallel for
    for (int64_t first = 0; first < features; first += 64) {
        const int64_t wide = std::min<int64_t>(64, features - first);
        double total[64] = {};
        for (int64_t block = 0; block < tokens; block += 64) {
            float part[64] = {};
            for (int64_t r = block; r < std::min(block + 64, tokens); ++r)
                for (int64_t i = 0; i < wide; ++i) {
                    const float v = x[r * features + first + i];
                    part[i] += v * v;
                }
            for (int64_t i = 0; i < wide; ++i) total[i] += part[i];
        }
        for (int64_t i = 0; i < wide; ++i) out[first + i] = float(total[i]);
    }
}
