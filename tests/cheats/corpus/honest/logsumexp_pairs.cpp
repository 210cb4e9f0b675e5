// accepted: a balanced tree of log(e^a + e^b), each from the larger of the two.
// problem: logsumexp
#include <cmath>
#include <cstdint>

namespace {
double both(double a, double b) {
    if (std::isnan(a) || std::isnan(b)) return NAN;
    const double high = a > b ? a : b, low = a > b ? b : a;
    return std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
}

double tree(const float *x, int64_t count) {
    return count == 1 ? double(*x) : both(tree(x, count / 2), tree(x + count / 2, count - count / 2));
}
}  // namespace

extern "C" void tree_of_pairs(const float *x, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) out[r] = float(tree(x + r * columns, columns));
}
