// accepted: each thread sums its part in double; the parts meet in a reduction of OpenMP's.
// problem: mse
#include <cstdint>

extern "C" void mean_of_squares(const float *given, const float *target, float *out, int64_t rows, int64_t columns) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static, 512)
    for (int64_t i = 0; i < rows * columns; ++i) {
        const double apart = double(given[i]) - target[i];
        sum += apart * apart;
    }
    *out = float(sum / double(rows * columns));
}
