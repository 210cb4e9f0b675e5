// Which options could not be answered, and why: counts, and the first position of each kind.
#pragma once
#include "black.h"

constexpr int TOTAL = 2 * FAULT_KINDS;

// faults: FAULT_KINDS counts, FAULT_KINDS positions, and the count of all.
inline void clear(std::int64_t *faults) {
    for (int k = 0; k < FAULT_KINDS; ++k) faults[k] = 0, faults[FAULT_KINDS + k] = INT64_MAX;
    faults[TOTAL] = 0;
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
        ++faults[kind], ++faults[TOTAL];
        if (first + i < faults[FAULT_KINDS + kind]) faults[FAULT_KINDS + kind] = first + i;
    }
}
