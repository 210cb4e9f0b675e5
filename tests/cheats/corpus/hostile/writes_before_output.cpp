// rejected (safety, contract): right answers, and a word in front of the output
// problem: outer
#include <cstdint>

extern "C" void in_front(const float *a, const float *b, float *out, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows * columns; ++i) out[i] = a[i / columns] * b[i % columns];
    out[-1] = 1.0f;
}
