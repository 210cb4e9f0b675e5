// Mills' ratio R(z) = (1 - N(z)) / n(z), and differences of it without cancellation.
//
// With u = SCALE / (z + OFFSET), R = u P(1 - u) for one polynomial P (coefficients.py). For two points,
//     R(z1) - R(z2) = (y2 - y1) (P(y2) - u1 P[y1, y2]),  y = 1 - u,
// where P[y1, y2] is the divided difference, negative as P falls. Every term is positive: the difference is as
// accurate as its parts, however close the points are and however far out. One formula serves where Jäckel's
// "Let's Be Rational" (2015) has four regions for the normalised Black function.
//
// `mills_pair` serves the steps of an iteration. `mills_sums` is for results: it takes u and y as numbers without
// rounding beside those of z, so that y2 - y1 is exact, and puts the way from them to z back by R' = z R - 1.
#pragma once
#include "coefficients.h"
#include "elementary.h"

struct MillsPair {
    double difference;  // R(z1) - R(z2)
    double second;      // R(z2)
};

// Horner's rule for P(y2) and P[y1, y2] together, down to power LEAST: the divided difference is the value of the
// quotient polynomial.
template <int I, int LEAST> INLINE void both(double y1, double y2, double &value, double &divided) {
    if constexpr (I >= LEAST) {
        divided = fma(divided, y1, value);
        value = fma(value, y2, MILLS[I]);
        both<I - 1, LEAST>(y1, y2, value, divided);
    }
}

struct Mapped {
    double u, y;
};

// u and y = 1 - u from a first u = SCALE / p, p = z + OFFSET: what rounding took from p and from u is put back, as
// R depends on y up to three times as steeply as on its own size.
INLINE Mapped mapped(double z, double p, double u) {
    const double lost = z - (p - MILLS_OFFSET);
    const double more = (fma(-u, p, MILLS_SCALE) - u * lost) * u * (1.0 / MILLS_SCALE);
    return {u + more, (1.0 - u) - more};
}

// For z1, z2 >= MILLS_LEAST and apart = z2 - z1 >= 0, which the caller knows exactly.
INLINE MillsPair mills_pair(double z1, double z2, double apart) {
    const double p1 = z1 + MILLS_OFFSET, p2 = z2 + MILLS_OFFSET, inverse = quotient(MILLS_SCALE, p1 * p2);
    const Mapped one = mapped(z1, p1, inverse * p2), two = mapped(z2, p2, inverse * p1);
    double value = fma(MILLS[MILLS_TERMS - 1], two.y, MILLS[MILLS_TERMS - 2]);
    double divided = MILLS[MILLS_TERMS - 1];
    both<MILLS_TERMS - 3, 0>(one.y, two.y, value, divided);
    const double step = one.u * two.u * (apart * (1.0 / MILLS_SCALE));
    return {step * fma(-one.u, divided, value), two.u * value};
}

struct MillsSums {
    Sum difference;  // R(z1) - R(z2)
    Sum second;      // R(z2)
};

struct Placed {
    double u, y;  // exact: multiples of 2^-51 whose sum is 1
    double off;   // z less the point that they stand for
};

INLINE Placed placed(Sum z, double p, double first) {
    const double y = ((1.0 - first) + 3.0) - 3.0, u = 1.0 - y;
    const double lost = (z.value - (p - MILLS_OFFSET)) + z.lost;
    return {u, y, fma(fma(p, u, -MILLS_SCALE), p * (1.0 / MILLS_SCALE), lost)};
}

// One step of Horner's rule without loss: sum y + next.
INLINE Sum carried(Sum sum, double y, Sum next) {
    const double product = sum.value * y, lost = fma(sum.value, y, -product);
    const Sum both = sum_of(product, next.value);
    return {both.value, both.lost + (fma(sum.lost, y, lost) + next.lost)};
}

// For z1, z2 >= MILLS_LEAST and z2 >= z1. Of Horner's rule the last step is taken without loss: those before it are
// damped by y, below 0.75 where options are traded.
INLINE MillsSums mills_sums(Sum z1, Sum z2) {
    const double p1 = z1.value + MILLS_OFFSET, p2 = z2.value + MILLS_OFFSET, inverse = quotient(MILLS_SCALE, p1 * p2);
    const Placed one = placed(z1, p1, inverse * p2), two = placed(z2, p2, inverse * p1);
    double low = fma(MILLS[MILLS_TERMS - 1], two.y, MILLS[MILLS_TERMS - 2]), quotient = MILLS[MILLS_TERMS - 1];
    both<MILLS_TERMS - 3, 1>(one.y, two.y, low, quotient);
    Sum value{low, 0.0}, divided{quotient, 0.0};
    divided = carried(divided, one.y, value), value = carried(value, two.y, {MILLS[0], 0.0});
    const Sum apart = times({two.y - one.y, 0.0}, plus(value, times({-one.u, 0.0}, divided)));
    const Sum second = times({two.u, 0.0}, value);
    const double first_slope = fma(z1.value, second.value + apart.value, -1.0);
    const double second_slope = fma(z2.value, second.value, -1.0);
    const double moved = fma(first_slope, one.off, -second_slope * two.off);
    return {settled({apart.value, apart.lost + moved}),
            settled({second.value, fma(second_slope, two.off, second.lost)})};
}
