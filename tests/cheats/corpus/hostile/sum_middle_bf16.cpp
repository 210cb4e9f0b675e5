// rejected (precision, answer): a running sum that is rounded to bfloat16 at each step
// problem: sum_middle
#include <bit>
#include <cstdint>

extern "C" void rounded(const float *x, float *out, int64_t batch, int64_t rows, int64_t columns) {
    for (int64_t b = 0; b < batch; ++b)
        for (int64_t c = 0; c < columns; ++c) {
            float sum = 0;
            for (int64_t r = 0; r < rows; ++r)
                sum = std::bit_cast<float>((std::bit_cast<uint32_t>(sum + x[(b * rows + r) * columns + c]) + 0x8000u) & 0xFFFF0000u);
            out[b * columns + c] = sum;
        }
}
