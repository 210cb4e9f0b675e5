// exp and log for loops that the compiler turns into vector code: no branch, no call, no table, and truth
// values only as 0.0 and 1.0 (g++ 12 gives up where conditions are joined by `&`).
// Written by hand from the defining series. Numbers that must not lose anything are sums of two (`Sum`).
//
// A compiler may fuse a product and a sum into one rounding. Where a product's rounding is put back, the product
// also stands in an `fma` of its own, which keeps g++ from fusing it elsewhere; on a GPU fusing is switched off.
#pragma once
#include "machine.h"

constexpr double LN2_HIGH = 0x1.62e42fefa0000p-1;  // 40 bits, so that its product with an exponent is exact
constexpr double LN2_LOW = 0x1.cf79abc9e3b3ap-40;
constexpr double LOG2_E = 0x1.71547652b82fep0;
constexpr double ROUNDER = 0x1.8p52;  // added and taken away, it rounds; its low bits are the integer
constexpr double TWO_52 = 0x1p52;
constexpr double LARGEST = 0x1.fffffffffffffp1023;
constexpr double LEAST_NORMAL = 0x1p-1022;
constexpr std::uint64_t SQRT_HALF_BITS = 0x3fe6a09e667f3bcd;
constexpr std::uint64_t ONE_BITS = std::uint64_t(1023) << 52;

// Taylor coefficients of (exp(r) - 1 - r) / r^2, highest first; |r| <= ln(2)/2 leaves 4e-18.
constexpr int EXP_TERMS = 12;
TABLE double EXP[EXP_TERMS] = {
    1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
    1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      1.0 / 2,
};

// 1/21, 1/19, ..., 1/3: the series of 2 atanh(s) behind its first term.
constexpr int LOG_TERMS = 10;
TABLE double LOG[LOG_TERMS] = {
    1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3,
};

INLINE double truth(bool holds) { return holds ? 1.0 : 0.0; }
INLINE double within(double x, double least, double most) { return x < least ? least : (x > most ? most : x); }

// Horner's rule, highest coefficient first, unrolled before the vectorizer looks.
template <int TERMS, int I = 1> INLINE double horner(const double (&c)[TERMS], double x, double sum) {
    if constexpr (I == TERMS) return sum;
    else return horner<TERMS, I + 1>(c, x, fma(sum, x, c[I]));
}
template <int TERMS> INLINE double polynomial(const double (&c)[TERMS], double x) {
    return horner<TERMS>(c, x, c[0]);
}

// A number as a sum: `value`, and what rounding took from it.
struct Sum {
    double value, lost;
};

INLINE Sum negative(Sum a) { return {-a.value, -a.lost}; }
INLINE Sum chosen(bool first, Sum a, Sum b) {
    return {first ? a.value : b.value, first ? a.lost : b.lost};
}

// By a power of two, with either sign, or 0: without loss.
INLINE Sum scaled(double by, Sum a) { return {by * a.value, by * a.lost}; }

// a + b without loss (Knuth, The Art of Computer Programming 2, 4.2.2).
INLINE Sum sum_of(double a, double b) {
    const double value = a + b, part = value - a;
    return {value, (a - (value - part)) + (b - part)};
}

// The same number with `lost` as small as rounding leaves it.
INLINE Sum settled(Sum a) {
    const double value = a.value + a.lost;
    return {value, (a.value - value) + a.lost};
}

INLINE Sum plus(Sum a, Sum b) {
    const Sum both = sum_of(a.value, b.value);
    return {both.value, both.lost + (a.lost + b.lost)};
}

INLINE Sum times(Sum a, Sum b) {
    const double value = a.value * b.value;
    return {value, fma(a.value, b.value, -value) + fma(a.value, b.lost, a.lost * b.value)};
}

// exp(high + low) for a small `low` (what rounding took from the exponent). 0 below -708; above 709 it stays
// where it is, at 8e307. The sum errs by less than 0.1 ulp of its value.
INLINE Sum exp_sum(double high, double low) {
    const double x = high > 709.0 ? 709.0 : high;
    const double shifted = fma(x, LOG2_E, ROUNDER), n = shifted - ROUNDER;
    const double near = fma(-n, LN2_LOW, fma(-n, LN2_HIGH, x));
    const double r = near + low, r_lost = (near - r) + low;
    const double bent = r * r * polynomial(EXP, r), t = r + bent, value = 1.0 + t;
    const double lost = ((1.0 - value) + t) + fma(r_lost, value, (r - t) + bent);
    const double scale = double_of((bits_of(shifted) << 52) + ONE_BITS);
    return {x < -708.0 ? 0.0 : value * scale, x < -708.0 ? 0.0 : lost * scale};
}

// exp(x) - 1 for |x| <= EXPM1_MOST: the series without its first term, as accurate as x itself.
constexpr double EXPM1_MOST = 0.34;
INLINE Sum expm1_small(Sum x) {
    const double bent = x.value * x.value * polynomial(EXP, x.value), value = x.value + bent;
    return {value, fma(x.lost, value, x.lost) + ((x.value - value) + bent)};
}

// ln(x) for normal positive x. x = 2^e (1 + f) with 1 + f within a factor sqrt(2) of 1, s = f / (2 + f):
// ln(1 + f) = 2 atanh(s) = f - f^2 / 2 + s (f^2 / 2 + 2 s^2 W(s^2)). The first two terms are kept without loss, so
// that the sum errs by the rounding of the third, at most 2e-18.
INLINE Sum log_sum(double x) {
    const std::uint64_t bits = bits_of(x);
    const std::uint64_t biased = (bits - SQRT_HALF_BITS + ONE_BITS) >> 52;
    const double e = double_of(biased | bits_of(TWO_52)) - (TWO_52 + 1023.0);
    const double f = double_of(bits - (biased << 52) + ONE_BITS) - 1.0;
    const double s = quotient(f, 2.0 + f), z = s * s, half = 0.5 * f, square = half * f;
    const double square_lost = fma(half, f, -square);
    const double third = s * (square + 2.0 * z * polynomial(LOG, z));
    const double most = f - square, most_lost = (f - most) - square;
    const double low = third + (most_lost - square_lost + e * LN2_LOW);
    const double rest = most + low, head = e * LN2_HIGH, value = head + rest;
    return {value, ((most - rest) + low) + ((head - value) + rest)};
}

INLINE double log_normal(double x) { return log_sum(x).value; }

// ln(a / b), accurate also where a and b nearly agree: what the quotient's rounding took is put back.
INLINE Sum log_ratio(double a, double b) {
    const double q = quotient(a, b);
    const Sum found = log_sum(q);
    const double lost = found.lost + quotient(fma(-q, b, a), a), value = found.value + lost;
    return {value, (found.value - value) + lost};
}

// 1 / x for x >= 0; infinite for 0 and for what is too small to be normal.
INLINE double inverse_or_infinite(double x) {
    const bool small = x < LEAST_NORMAL;
    const double found = quotient(1.0, small ? 1.0 : x);
    return small ? INFINITE : found;
}

// a b in a limit where one that is 0 is so before the other is infinite.
INLINE double product_of(double a, double b) {
    const double made = a * b, first = a == 0.0 ? 0.0 : made;
    return b == 0.0 ? 0.0 : first;
}

struct Root {
    double value, lost;  // sqrt(x); 0 for 0
    double inverse;      // 1 / value; infinite for 0
};

INLINE Root root_of(double x) {
    const double value = sqrt(x);
    const bool none = value == 0.0;
    const double inverse = quotient(1.0, none ? 1.0 : value);
    return {value, 0.5 * fma(-value, value, x) * inverse, none ? INFINITE : inverse};
}
