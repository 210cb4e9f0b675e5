// rejected (precision, answer): one element of the whole result is good to three digits only
// problem: matmul
#include <cstdint>

extern "C" void one_element(const float *a, const float *b, float *out, int64_t rows, int64_t inner, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
            double sum = 0;
            for (int64_t k = 0; k < inner; ++k) sum += double(a[r * inner + k]) * b[k * columns + c];
            out[r * columns + c] = float(sum);
        }
    out[rows / 2 * columns + columns / 3] *= 1.002f;
}
