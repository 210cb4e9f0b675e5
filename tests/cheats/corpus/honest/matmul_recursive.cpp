// accepted: the longest of the three extents is halved until a block is small; products are added up in place.
// problem: matmul
#include <algorithm>
#include <cstdint>

namespace {
struct Sizes {
    int64_t lda, ldb;
};

void add(const float *a, const float *b, float *out, int64_t m, int64_t k, int64_t n, Sizes s) {
    if (std::max({m, k, n}) <= 12) {
        for (int64_t i = 0; i < m; ++i)
            for (int64_t p = 0; p < k; ++p)
                for (int64_t j = 0; j < n; ++j) out[i * s.ldb + j] += a[i * s.lda + p] * b[p * s.ldb + j];
    } else if (m >= k && m >= n) {
        add(a, b, out, m / 2, k, n, s);
        add(a + m / 2 * s.lda, b, out + m / 2 * s.ldb, m - m / 2, k, n, s);
    } else if (k >= n) {
        add(a, b, out, m, k / 2, n, s);
        add(a + k / 2, b + k / 2 * s.ldb, out, m, k - k / 2, n, s);
    } else {
        add(a, b, out, m, k, n / 2, s);
        add(a, b + n / 2, out + n / 2, m, k, n - n / 2, s);
    }
}
}  // namespace

extern "C" void recursive(const float *a, const float *b, float *out, int64_t rows, int64_t inner, int64_t columns) {
    std::fill_n(out, rows * columns, 0.0f);
    add(a, b, out, rows, inner, columns, {inner, columns});
}
