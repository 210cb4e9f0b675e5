// accepted: two OpenMP sections take a half each.
// problem: hinge
#include <cstdint>

namespace {
double part(const float *given, const float *target, int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) {
        const float v = 1.0f - given[i] * target[i];
        sum += v < 0 ? 0.0 : double(v);
    }
    return sum;
}
}  // namespace

extern "C" void halves(const float *given, const float *target, float *out, int64_t rows) {
    double first = 0, second = 0;
#pragma omp parallel sections
    {
#pragma omp section
        first = part(given, target, 0, rows / 2);
#pragma omp section
        second = part(given, target, rows / 2, rows);
    }
    *out = float((first + second) / double(rows));
}
