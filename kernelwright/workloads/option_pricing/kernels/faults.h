// Which options could not be answered, and why: counts, and the first position of each kind.
#pragma once
#include <cstdint>

constexpr int FAULT_KINDS = 3;
constexpr double INVALID = 1.0, BELOW_INTRINSIC = 2.0, ABOVE_BOUND = 3.0;  // 0 is no fault

// faults: FAULT_KINDS counts, then FAULT_KINDS positions.
inline void clear(std::int64_t *faults) {
    for (int k = 0; k < 2 * FAULT_KINDS; ++k) faults[k] = k < FAULT_KINDS ? 0 : INT64_MAX;
}

// Enters a tile's faults; threads come here only where there are some.
inline void enter(std::int64_t *faults, const double *fault, std::int64_t first, int count) {
    double any = 0.0;
#pragma omp simd reduction(max : any)
    for (int i = 0; i < count; ++i) any = fault[i] > any ? fault[i] : any;
    if (any == 0.0) return;
#pragma omp critical(option_pricing_faults)
    for (int i = 0; i < count; ++i) {
        if (fault[i] == 0.0) continue;
        const int kind = int(fault[i]) - 1;
        ++faults[kind];
        if (first + i < faults[FAULT_KINDS + kind]) faults[FAULT_KINDS + kind] = first + i;
    }
}
