// Options as threads of a GPU find them: inputs and outputs in either float type, faults counted for all.
#pragma once
#include "black.h"

constexpr int BLOCK = 256;

// Input of option i. Where there is one value for all, its bits stand in the place of the address.
template <class T> INLINE double input(const T *from, int number, std::int64_t scalars, std::int64_t i) {
    const bool one = scalars >> number & 1;
    return one ? __longlong_as_double(reinterpret_cast<long long>(from)) : static_cast<double>(from[i]);
}

// faults: counts by kind, first positions by kind, the count of all; zero before. A position is kept as its
// complement, so that the first is the largest.
INLINE void enter(unsigned long long *faults, double fault, std::int64_t i) {
    if (fault == 0.0) return;
    const int kind = static_cast<int>(fault) - 1;
    atomicAdd(faults + kind, 1ull);
    atomicMax(faults + FAULT_KINDS + kind, ~static_cast<unsigned long long>(i));
    atomicAdd(faults + 2 * FAULT_KINDS, 1ull);
}
