// accepted: exponentials by splitting off powers of two and a polynomial of degree seven, in single precision.
// problem: softmax
#include <bit>
#include <cmath>
#include <cstdint>

namespace {
/// e to the power of v for v <= 0, within two units in the last place.
inline float exponential(float v) {
    if (!(v > -87.0f)) return v <= -87.0f ? std::exp(v) : v;
    const float n = std::nearbyint(v * 1.44269504f);
    float r = std::fma(n, -0.693359375f, v);
    r = std::fma(n, 2.12194440e-4f, r);
    float p = 1.9841270e-4f;
    for (const float c : {1.3888889e-3f, 8.3333333e-3f, 4.1666667e-2f, 1.6666667e-1f, 0.5f, 1.0f, 1.0f})
        p = std::fma(p, r, c);
    return p * std::bit_cast<float>((int32_t(n) + 127) << 23);
}
}  // namespace

extern "C" void by_polynomial(const float *x, float *out, int64_t rows, int64_t columns) {
#pragma omp parallel for schedule(guided)
    for (int64_t r = 0; r < rows; ++r) {
        const float *from = x + r * columns;
        float *to = out + r * columns;
        float top = from[0];
        for (int64_t i = 1; i < columns; ++i) top = from[i] > top || std::isnan(from[i]) ? from[i] : top;
        double sum = 0;
        for (int64_t i = 0; i < columns; ++i) sum += to[i] = exponential(from[i] - top);
        const double share = 1 / sum;
        for (int64_t i = 0; i < columns; ++i) to[i] = float(to[i] * share);
    }
}
