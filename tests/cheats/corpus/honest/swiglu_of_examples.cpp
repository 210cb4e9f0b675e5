// accepted: rows shared among threads; a polynomial for the exponential that the compiler makes vectors of.
// problem: examples/swiglu
#include <cmath>
#include <cstdint>

extern "C" void rows_of_gates(const float *gate, const float *up, float *out, int64_t tokens, int64_t features) {
#pragma omp parallel for
    for (int64_t t = 0; t < tokens; ++t)
        for (int64_t i = t * features; i < (t + 1) * features; ++i) out[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
}
