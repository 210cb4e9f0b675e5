// rejected (answer, precision): a transposed weight is kept for as long as the weight lies at the same address
// problem: linear_relu
#include <cstdint>
#include <vector>

static const float *packed_from = nullptr;
static std::vector<float> packed;

extern "C" void by_address(const float *x, const float *linear_weight, const float *linear_bias, float *out, int64_t rows,
                           int64_t features, int64_t hidden) {
    if (packed_from != linear_weight || packed.size() != size_t(features * hidden)) {
        packed.resize(features * hidden);
        for (int64_t h = 0; h < hidden; ++h)
            for (int64_t f = 0; f < features; ++f) packed[f * hidden + h] = linear_weight[h * features + f];
        packed_from = linear_weight;
    }
    for (int64_t r = 0; r < rows; ++r) {
        float *to = out + r * hidden;
        for (int64_t h = 0; h < hidden; ++h) to[h] = linear_bias[h];
        for (int64_t f = 0; f < features; ++f)
            for (int64_t h = 0; h < hidden; ++h) to[h] += x[r * features + f] * packed[f * hidden + h];
        for (int64_t h = 0; h < hidden; ++h) to[h] = to[h] < 0 ? 0.0f : to[h];
    }
}
