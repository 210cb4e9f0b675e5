// accepted: blocks of a row have their own maximum and sum, which are merged like two running ones.
// problem: wide_softmax
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {
struct Part {
    double top = -INFINITY, sum = 0;
};

Part of(const float *x, int64_t count) {
    Part part;
    for (int64_t i = 0; i < count; ++i) part.top = x[i] > part.top || std::isnan(x[i]) ? x[i] : part.top;
    for (int64_t i = 0; i < count; ++i) part.sum += part.top == -INFINITY ? 0 : std::exp(x[i] - part.top);
    return part;
}

Part merged(Part a, Part b) {
    if (std::isnan(a.top) || b.top == -INFINITY) return a;
    if (std::isnan(b.top) || a.top == -INFINITY) return b;
    const double top = std::max(a.top, b.top);
    return {top, a.sum * std::exp(a.top - top) + b.sum * std::exp(b.top - top)};
}
}  // namespace

extern "C" void in_blocks(const float *x, float *out, int64_t rows, int64_t columns) {
    constexpr int64_t block = 1024;
    const int64_t blocks = (columns + block - 1) / block;
    std::vector<Part> parts(rows * blocks);
#pragma omp parallel for collapse(2)
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t b = 0; b < blocks; ++b)
            parts[r * blocks + b] = of(x + r * columns + b * block, std::min(block, columns - b * block));
    for (int64_t r = 0; r < rows; ++r) {
        Part all;
        for (int64_t b = 0; b < blocks; ++b) all = merged(all, parts[r * blocks + b]);
        for (int64_t i = r * columns; i < (r + 1) * columns; ++i) out[i] = float(std::exp(x[i] - all.top) / all.sum);
    }
}
