// accepted: tiles of four by eight in registers, a constexpr tile size, tails by the same code.
// problem: matmul
#include <algorithm>
#include <cstdint>

namespace {
constexpr int64_t tall = 4, wide = 8;

void tile(const float *a, const float *b, float *out, int64_t inner, int64_t columns, int64_t high, int64_t across) {
    float held[tall][wide] = {};
    for (int64_t k = 0; k < inner; ++k)
        for (int64_t i = 0; i < high; ++i)
            for (int64_t j = 0; j < across; ++j) held[i][j] += a[i * inner + k] * b[k * columns + j];
    for (int64_t i = 0; i < high; ++i) std::copy_n(held[i], across, out + i * columns);
}
}  // namespace

extern "C" void tiled(const float *a, const float *b, float *out, int64_t rows, int64_t inner, int64_t columns) {
#pragma omp parallel for collapse(2)
    for (int64_t r = 0; r < rows; r += tall)
        for (int64_t c = 0; c < columns; c += wide)
            tile(a + r * inner, b + c, out + r * columns + c, inner, columns, std::min(tall, rows - r), std::min(wide, columns - c));
}
