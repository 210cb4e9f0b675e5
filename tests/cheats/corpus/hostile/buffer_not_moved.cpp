// rejected (answer, contract): right result, but the buffer that should follow stays where it is
// problem: moving_average
#include <cstdint>
#include <vector>

extern "C" void unmoved(const float *x, float *average, float *out, int64_t rows, int64_t columns) {
    std::vector<double> moved(columns);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) moved[c] += x[r * columns + c];
    for (int64_t c = 0; c < columns; ++c) moved[c] = 0.9 * average[c] + 0.1 * moved[c] / double(rows);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) out[r * columns + c] = float(x[r * columns + c] - moved[c]);
}
