// accepted: outer products of columns and rows, summed in double into a block of the batch.
// problem: batched_matmul
#include <cstdint>
#include <vector>

extern "C" void outer_products(const float *a, const float *b, float *out, int64_t batch, int64_t rows, int64_t inner, int64_t columns) {
    std::vector<double> block(rows * columns);
    for (int64_t n = 0; n < batch; ++n) {
        block.assign(rows * columns, 0.0);
        for (int64_t k = 0; k < inner; ++k)
            for (int64_t r = 0; r < rows; ++r)
                for (int64_t c = 0; c < columns; ++c)
                    block[r * columns + c] += double(a[(n * rows + r) * inner + k]) * b[(n * inner + k) * columns + c];
        for (int64_t i = 0; i < rows * columns; ++i) out[n * rows * columns + i] = float(block[i]);
    }
}
