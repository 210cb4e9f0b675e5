// accepted: AVX2 where the machine has it, plain C++ elsewhere; NaN is looked for by an unordered compare.
// problem: max_last
#include <cmath>
#include <cstdint>
#include <immintrin.h>

namespace {
__attribute__((target("avx2"))) float by_eights(const float *x, int64_t count) {
    __m256 top = _mm256_set1_ps(x[0]), odd = _mm256_setzero_ps();
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256 v = _mm256_loadu_ps(x + i);
        odd = _mm256_or_ps(odd, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
        top = _mm256_max_ps(top, v);
    }
    alignas(32) float lanes[8];
    _mm256_store_ps(lanes, top);
    float found = lanes[0];
    bool missing = _mm256_movemask_ps(odd) != 0;
    for (float lane : lanes) found = lane > found ? lane : found;
    for (; i < count; ++i) {
        missing = missing || std::isnan(x[i]);
        found = x[i] > found ? x[i] : found;
    }
    return missing ? NAN : found;
}

float one_by_one(const float *x, int64_t count) {
    float found = x[0];
    for (int64_t i = 1; i < count; ++i) found = x[i] > found || std::isnan(x[i]) ? x[i] : found;
    return found;
}
}  // namespace

extern "C" void dispatched(const float *x, float *out, int64_t rows, int64_t columns) {
    static const auto largest = __builtin_cpu_supports("avx2") ? by_eights : one_by_one;
    for (int64_t r = 0; r < rows; ++r) out[r] = largest(x + r * columns, columns);
}
