// accepted: OpenMP tasks, one for each four rows, with a template for the reduction.
// problem: layer_norm
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {
template <typename Term>
double total(int64_t count, Term term) {
    double sums[4] = {};
    for (int64_t i = 0; i < count; ++i) sums[i & 3] += term(i);
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

void one(const float *row, const float *weight, const float *bias, float *to, int64_t count) {
    const double mean = total(count, [=](int64_t i) { return double(row[i]); }) / double(count);
    const double variance = total(count, [=](int64_t i) { return (row[i] - mean) * (row[i] - mean); }) / double(count);
    const double scale = 1 / std::sqrt(variance + 1e-5);
    std::transform(row, row + count, weight, to, [=](float v, float w) { return float((v - mean) * scale * w); });
    std::transform(to, to + count, bias, to, [](float v, float b) { return v + b; });
}
}  // namespace

extern "C" void with_tasks(const float *x, const float *norm_weight, const float *norm_bias, float *out, int64_t rows, int64_t columns) {
#pragma omp parallel
#pragma omp single
    for (int64_t first = 0; first < rows; first += 4) {
#pragma omp task firstprivate(first)
        for (int64_t r = first; r < std::min(first + 4, rows); ++r)
            one(x + r * columns, norm_weight, norm_bias, out + r * columns, columns);
    }
}
