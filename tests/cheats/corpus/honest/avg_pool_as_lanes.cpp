// accepted: sums of pairs of pairs, over the whole tensor as one long row.
// problem: avg_pool
// kernelwright: {"domain": "length % 4 == 0"}
#include <cstdint>

extern "C" void pairs_of_pairs(const float *x, float *out, int64_t out_numel) {
#pragma omp parallel for simd
    for (int64_t i = 0; i < out_numel; ++i) out[i] = 0.25f * ((x[4 * i] + x[4 * i + 1]) + (x[4 * i + 2] + x[4 * i + 3]));
}
