// accepted: a compensated sum in double.
// problem: fp64_sum
#include <cmath>
#include <cstdint>

extern "C" void neumaier(const double *x, double *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        double sum = 0, lost = 0;
        for (int64_t i = 0; i < columns; ++i) {
            const double v = x[r * columns + i], next = sum + v;
            const double error = std::fabs(sum) >= std::fabs(v) ? (sum - next) + v : (v - next) + sum;
            lost += std::isfinite(error) ? error : 0.0;
            sum = next;
        }
        out[r] = sum + lost;
    }
}
