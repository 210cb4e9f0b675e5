// rejected (precision): what is given is cut to bfloat16; sums in single precision
// problem: matmul
#include <bit>
#include <cstdint>

namespace {
float cut(float v) { return std::bit_cast<float>(std::bit_cast<uint32_t>(v) & 0xFFFF0000u); }
}  // namespace

extern "C" void cut_short(const float *a, const float *b, float *out, int64_t rows, int64_t inner, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
            float sum = 0;
            for (int64_t k = 0; k < inner; ++k) sum += cut(a[r * inner + k]) * cut(b[k * columns + c]);
            out[r * columns + c] = sum;
        }
}
