// exp and log for loops that the compiler turns into vector code: no branch, no call, no table, and truth
// values only as 0.0 and 1.0 (g++ 12 gives up where conditions are joined by `&`).
// Written by hand from the defining series; both err by less than 1 ulp on the range that they serve.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#define INLINE static inline __attribute__((always_inline))

constexpr double LN2_HIGH = 0x1.62e42fefa0000p-1;  // 40 bits, so that its product with an exponent is exact
constexpr double LN2_LOW = 0x1.cf79abc9e3b3ap-40;
constexpr double LOG2_E = 0x1.71547652b82fep0;
constexpr double ROUNDER = 0x1.8p52;  // added and taken away, it rounds; its low bits are the integer
constexpr double TWO_52 = 0x1p52;
constexpr std::uint64_t SQRT_HALF_BITS = 0x3fe6a09e667f3bcd;
constexpr double INFINITE = __builtin_inf();
constexpr double NOT_A_NUMBER = __builtin_nan("");

// Taylor coefficients of (exp(r) - 1 - r) / r^2, highest first; |r| <= ln(2)/2 leaves 4e-18.
constexpr int EXP_TERMS = 12;
constexpr double EXP[EXP_TERMS] = {
    1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
    1.0 / 5040,       1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      1.0 / 2,
};

// 1/21, 1/19, ..., 1/3: the series of 2 atanh(s) behind its first term.
constexpr int LOG_TERMS = 10;
constexpr double LOG[LOG_TERMS] = {
    1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3,
};

INLINE double truth(bool holds) { return holds ? 1.0 : 0.0; }

// Horner's rule, highest coefficient first, unrolled before the vectorizer looks.
template <int TERMS, int I = 1> INLINE double horner(const double (&c)[TERMS], double x, double sum) {
    if constexpr (I == TERMS) return sum;
    else return horner<TERMS, I + 1>(c, x, std::fma(sum, x, c[I]));
}
template <int TERMS> INLINE double polynomial(const double (&c)[TERMS], double x) {
    return horner<TERMS>(c, x, c[0]);
}

// exp(high + low) for a small `low` (what rounding took from the exponent). 0 below -708; above 709 it stays
// where it is, at 8e307.
INLINE double exp_sum(double high, double low) {
    const double x = high > 709.0 ? 709.0 : high;
    const double shifted = x * LOG2_E + ROUNDER;
    const double n = shifted - ROUNDER;
    const double r = std::fma(-n, LN2_LOW, std::fma(-n, LN2_HIGH, x)) + low;
    const double value = 1.0 + std::fma(r * r, polynomial(EXP, r), r);
    const std::uint64_t scaled =
        std::bit_cast<std::uint64_t>(value) + (std::bit_cast<std::uint64_t>(shifted) << 52);
    return x < -708.0 ? 0.0 : std::bit_cast<double>(scaled);
}

// exp(x) - 1 for |x| <= EXPM1_MOST: the series without its first term, as accurate as x itself.
constexpr double EXPM1_MOST = 0.34;
INLINE double expm1_small(double x) { return std::fma(x * x, polynomial(EXP, x), x); }

// A number as a sum: `value`, and what rounding took from it.
struct Sum {
    double value, lost;
};

// a + b without loss (Knuth, The Art of Computer Programming 2, 4.2.2).
INLINE Sum sum_of(double a, double b) {
    const double value = a + b, part = value - a;
    return {value, (a - (value - part)) + (b - part)};
}

// ln(x) for normal positive x. x = 2^e (1 + f) with 1 + f within a factor sqrt(2) of 1, s = f / (2 + f):
// ln(1 + f) = 2 atanh(s) = f - f^2 / 2 + s (f^2 / 2 + 2 s^2 W(s^2)). The first two terms are kept without loss, so
// that the sum errs by the rounding of the third, at most 2e-18.
INLINE Sum log_sum(double x) {
    constexpr std::uint64_t one = std::uint64_t(1023) << 52;
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t biased = (bits - SQRT_HALF_BITS + one) >> 52;
    const double e = std::bit_cast<double>(biased | std::bit_cast<std::uint64_t>(TWO_52)) - (TWO_52 + 1023.0);
    const double f = std::bit_cast<double>(bits - (biased << 52) + one) - 1.0;
    const double s = f / (2.0 + f), z = s * s, half = 0.5 * f, square = half * f;
    const double square_lost = std::fma(half, f, -square);
    const double third = s * (square + 2.0 * z * polynomial(LOG, z));
    const double most = f - square, most_lost = (f - most) - square;
    const double low = third + (most_lost - square_lost + e * LN2_LOW);
    const double rest = most + low, head = e * LN2_HIGH, value = head + rest;
    return {value, ((most - rest) + low) + ((head - value) + rest)};
}

INLINE double log_normal(double x) { return log_sum(x).value; }

// ln(a / b), accurate also where a and b nearly agree: what the quotient's rounding took is put back.
INLINE Sum log_ratio(double a, double b) {
    const double q = a / b;
    const Sum found = log_sum(q);
    const double lost = found.lost + std::fma(-q, b, a) / a, value = found.value + lost;
    return {value, (found.value - value) + lost};
}

// sqrt(x); 0 for 0.
INLINE Sum root_of(double x) {
    const double value = std::sqrt(x), safe = value > 0.0 ? value : 1.0;
    return {value, 0.5 * std::fma(-value, value, x) / safe};
}
