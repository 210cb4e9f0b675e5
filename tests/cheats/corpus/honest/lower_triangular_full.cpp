// accepted: multiplies whole matrices and leaves out the upper half at the end: no trust in what is given.
// problem: lower_triangular
#include <cstdint>
#include <vector>

extern "C" void whole(const float *a, const float *b, float *out, int64_t size) {
    std::vector<double> row(size);
    for (int64_t r = 0; r < size; ++r) {
        row.assign(size, 0.0);
        for (int64_t k = 0; k < size; ++k)
            for (int64_t c = 0; c <= r; ++c) row[c] += double(a[r * size + k]) * b[k * size + c];
        for (int64_t c = 0; c < size; ++c) out[r * size + c] = c <= r ? float(row[c]) : 0.0f;
    }
}
