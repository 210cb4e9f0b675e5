// rejected (precision): ten bits of mantissa, but only in the last three rows
// problem: matmul
#include <bit>
#include <cstdint>

namespace {
float tensor_float(float v) { return std::bit_cast<float>((std::bit_cast<uint32_t>(v) + 0x1000u) & 0xFFFFE000u); }
}  // namespace

extern "C" void last_rows(const float *a, const float *b, float *out, int64_t rows, int64_t inner, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
            double sum = 0;
            for (int64_t k = 0; k < inner; ++k) {
                const float u = a[r * inner + k], v = b[k * columns + c];
                sum += r + 3 < rows ? double(u) * v : double(tensor_float(u)) * tensor_float(v);
            }
            out[r * columns + c] = float(sum);
        }
}
