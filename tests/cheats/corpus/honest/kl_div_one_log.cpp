// accepted: one logarithm of a quotient in place of two, where both are ordinary numbers.
// problem: kl_div
#include <cmath>
#include <cstdint>

extern "C" void of_quotients(const float *given, const float *target, float *out, int64_t rows, int64_t columns) {
    double sum = 0;
    for (int64_t i = 0; i < rows * columns; ++i) {
        const double p = given[i], q = target[i];
        if (p > 0 && q > 0 && p < INFINITY && q < INFINITY)
            sum += q * std::log(q / p);
        else
            sum += (q == 0 ? 0 : q * std::log(q)) - q * std::log(p);
    }
    *out = float(sum / double(rows));
}
