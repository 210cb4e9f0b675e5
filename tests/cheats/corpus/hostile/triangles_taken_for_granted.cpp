// rejected (answer, precision): leaves out what would be zero if both matrices were triangular, and does not look
// problem: lower_triangular
#include <cstdint>

extern "C" void trusting(const float *a, const float *b, float *out, int64_t size) {
    for (int64_t r = 0; r < size; ++r)
        for (int64_t c = 0; c < size; ++c) {
            double sum = 0;
            for (int64_t k = c; k <= r; ++k) sum += double(a[r * size + k]) * b[k * size + c];
            out[r * size + c] = float(sum);
        }
}
