// Price and Greeks of European options, one thread each. Written by hand; the mathematics is in greeks.h, in 64 bits
// whatever the type of inputs and outputs. variant.h says which that is (Real), and how much is computed (LEVEL).
#include "greeks.h"
#include "threads.h"
#include "variant.h"

#define STORE(NUMBER, name)                                                        \
    if (wanted >> NUMBER & 1) {                                                    \
        *to = static_cast<Real>(fault == 0.0 ? values.name : NOT_A_NUMBER);        \
        to += n;                                                                   \
    }

// As `evaluate` of evaluate.cpp; see `input` for values that all options share.
extern "C" __global__ void __launch_bounds__(BLOCK)
evaluate(const Real *sign, const Real *spot, const Real *strike, const Real *years, const Real *rate,
         const Real *dividend, const Real *sigma, Real *out, unsigned long long *faults, std::int64_t n,
         std::int64_t scalars, std::int64_t wanted, std::int64_t model) {
    const std::int64_t i = std::int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    if (i >= n) return;
    const auto [values, fault] =
        answer<LEVEL>(input(sign, 0, scalars, i), input(spot, 1, scalars, i), input(strike, 2, scalars, i),
                      input(years, 3, scalars, i), input(rate, 4, scalars, i), input(dividend, 5, scalars, i),
                      input(sigma, 6, scalars, i), model == BLACK);
    enter(faults, fault, i);
    Real *to = out + i;
    if constexpr (LEVEL == 0) { EACH_PRICE(STORE) }
    if constexpr (LEVEL == 1) { EACH_FIRST(STORE) }
    if constexpr (LEVEL == 2) { EACH_RESULT(STORE) }
}
