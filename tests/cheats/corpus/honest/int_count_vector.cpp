// accepted: counts kept in bytes' worth of short runs, then widened.
// problem: int_count
#include <algorithm>
#include <cstdint>

extern "C" void short_runs(const int32_t *x, const int32_t *limit, int64_t *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        int64_t count = 0;
        for (int64_t first = 0; first < columns; first += 200) {
            uint8_t run = 0;
            for (int64_t i = first; i < std::min(first + 200, columns); ++i) run += x[r * columns + i] > limit[r];
            count += run;
        }
        out[r] = count;
    }
}
