// accepted: the sum over outputs is drawn into the weights: a product with one vector. True for all inputs.
// problem: linear_sum
#include <cstdint>
#include <vector>

extern "C" void collapsed(const float *x, const float *linear_weight, const float *linear_bias, float *out, int64_t rows,
                          int64_t features, int64_t hidden) {
    std::vector<double> column(features);
    double shift = 0;
    for (int64_t h = 0; h < hidden; ++h) {
        shift += linear_bias[h];
        for (int64_t f = 0; f < features; ++f) column[f] += linear_weight[h * features + f];
    }
    for (int64_t r = 0; r < rows; ++r) {
        double sum = shift;
        for (int64_t f = 0; f < features; ++f) sum += x[r * features + f] * column[f];
        out[r] = float(sum);
    }
}
