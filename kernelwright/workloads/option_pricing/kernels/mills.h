// Mills' ratio R(z) = (1 - N(z)) / n(z), and differences of it without cancellation.
//
// With u = SCALE / (z + OFFSET), R = u P(1 - u) for one polynomial P (coefficients.py). For two points,
//     R(z1) - R(z2) = (u1 - u2) P(y2) - u1 P[y1, y2] (y2 - y1),  y = 1 - u,  y2 - y1 = u1 - u2,
// where P[y1, y2] is the divided difference, negative as P falls, and u1 - u2 = u1 u2 (z2 - z1) / SCALE with
// z2 - z1 known exactly by the caller. Every term is positive: the difference is as accurate as its parts,
// however close the points are and however far out. One formula serves where Jäckel's "Let's Be Rational"
// (2015) has four regions for the normalised Black function.
#pragma once
#include "coefficients.h"
#include "elementary.h"

struct MillsPair {
    double difference;  // R(z1) - R(z2)
    double second;      // R(z2)
};

// Horner's rule for P(y2) and P[y1, y2] together: the divided difference is the quotient polynomial's value.
template <int I> INLINE void both(double y1, double y2, double &value, double &divided) {
    if constexpr (I >= 0) {
        divided = std::fma(divided, y1, value);
        value = std::fma(value, y2, MILLS[I]);
        both<I - 1>(y1, y2, value, divided);
    }
}

struct Mapped {
    double u, y;
};

// u and y = 1 - u from a first u = SCALE / p, p = z + OFFSET: what rounding took from p and from u is put back, as
// R depends on y up to three times as steeply as on its own size.
INLINE Mapped mapped(double z, double p, double u) {
    const double lost = z - (p - MILLS_OFFSET);
    const double more = (std::fma(-u, p, MILLS_SCALE) - u * lost) * u * (1.0 / MILLS_SCALE);
    return {u + more, (1.0 - u) - more};
}

// For z1, z2 >= MILLS_LEAST and apart = z2 - z1 >= 0.
INLINE MillsPair mills_pair(double z1, double z2, double apart) {
    const double p1 = z1 + MILLS_OFFSET, p2 = z2 + MILLS_OFFSET, inverse = MILLS_SCALE / (p1 * p2);
    const Mapped one = mapped(z1, p1, inverse * p2), two = mapped(z2, p2, inverse * p1);
    double value = std::fma(MILLS[MILLS_TERMS - 1], two.y, MILLS[MILLS_TERMS - 2]);
    double divided = MILLS[MILLS_TERMS - 1];
    both<MILLS_TERMS - 3>(one.y, two.y, value, divided);
    const double step = one.u * two.u * (apart * (1.0 / MILLS_SCALE));
    return {step * (value - one.u * divided), two.u * value};
}
