// Implied volatilities of European options, one thread each. Written by hand; the mathematics is in solve.h, in 64
// bits whatever the type of inputs and outputs (Real, of variant.h).
#include "solve.h"
#include "threads.h"
#include "variant.h"

INLINE double solved(const Sought &found, double years) {
    const double distance = found.distance.value;
    double s = guess(found);
    for (int taken = 0; taken < MOST_STEPS; ++taken) {
        const Step next = step(distance, found.side, found.logarithm, s);
        s = clamp(s * (1.0 + next.share), distance, found.side);
        if (fabs(next.residual) < CLOSE) break;
    }
    const double more = last_step(found.distance, found.side, found.target, found.lift, s);
    return found.unit * volatility_of(s, more, years);
}

// As `implied` of implied.cpp; see `input` for values that all options share.
extern "C" __global__ void __launch_bounds__(BLOCK)
implied(const Real *sign, const Real *spot, const Real *strike, const Real *years, const Real *rate,
        const Real *dividend, const Real *price, Real *out, unsigned long long *faults, std::int64_t n,
        std::int64_t scalars, std::int64_t model) {
    const std::int64_t i = std::int64_t(blockIdx.x) * BLOCK + threadIdx.x;
    if (i >= n) return;
    const double span = input(years, 3, scalars, i);
    const Sought found =
        sought(input(sign, 0, scalars, i), input(spot, 1, scalars, i), input(strike, 2, scalars, i), span,
               input(rate, 4, scalars, i), input(dividend, 5, scalars, i), input(price, 6, scalars, i), model == BLACK);
    const double sigma = found.zero > 0.0 ? 0.0 : solved(found, span);
    out[i] = static_cast<Real>(found.fault == 0.0 ? sigma : NOT_A_NUMBER);
    enter(faults, found.fault, i);
}
