// accepted: sixteen rows at a time are transposed into a tile, so that the lanes of a vector are rows.
// problem: softmax
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void across_rows(const float *x, float *out, int64_t rows, int64_t columns) {
    constexpr int64_t lanes = 16;
    std::vector<float> tile(lanes * columns);
    for (int64_t first = 0; first < rows; first += lanes) {
        const int64_t used = std::min(lanes, rows - first);
        for (int64_t l = 0; l < lanes; ++l)
            for (int64_t i = 0; i < columns; ++i) tile[i * lanes + l] = x[(first + std::min(l, used - 1)) * columns + i];
        float top[lanes];
        double sum[lanes] = {};
        std::copy_n(tile.data(), lanes, top);
        for (int64_t i = 1; i < columns; ++i)
            for (int64_t l = 0; l < lanes; ++l) {
                const float v = tile[i * lanes + l];
                top[l] = v > top[l] || v != v ? v : top[l];
            }
        for (int64_t i = 0; i < columns; ++i)
            for (int64_t l = 0; l < lanes; ++l) sum[l] += tile[i * lanes + l] = std::exp(tile[i * lanes + l] - top[l]);
        for (int64_t l = 0; l < used; ++l)
            for (int64_t i = 0; i < columns; ++i)
                out[(first + l) * columns + i] = float(tile[i * lanes + l] / sum[l]);
    }
}
