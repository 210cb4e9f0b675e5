// What pricing and its inverse share: the two sides of an option, and the normalised Black function.
//
// With A and B the forward and the strike, both discounted, x = ln(A/B), s = sigma sqrt(t), a = |x| / s, h = s / 2,
// z1 = a - h and z2 = a + h, in units of min(A, B):
//     price of the option out of the money   n(z1) (R(z1) - R(z2))
//     what it falls short of min(A, B) by    n(z1) (R(-z1) + R(z2))
//     its derivative by s                    n(z1)
// Which side is the call's enters only as a sign: an option and its mirror image (put for call, A for B) are the same
// arithmetic, to the last bit. The first line is used where z1 is not too negative, the second elsewhere.
#pragma once
#include "mills.h"

constexpr std::int64_t BLACK = 0;   // model: Black-76; anything else is Black-Scholes-Merton
constexpr double INVERSE_SQRT_2_PI = 0x1.9884533d43651p-2, INVERSE_SQRT_2_PI_LOST = -0x1.cbc0d30ebfd15p-56;
constexpr double MOST_X = 700.0;     // |ln(F/K)| beyond which exponentials overflow
constexpr double NEAR = -0.7;       // z1 from which the first line is used
constexpr double APART = 1e-16;     // s below which R(z1) - R(z2) is a slope
constexpr double MOST_A = 1e150;    // |x| / s beyond which squares overflow
constexpr int FAULT_KINDS = 3;
constexpr double INVALID = 1.0, BELOW_INTRINSIC = 2.0, ABOVE_BOUND = 3.0;  // 0 is no fault

// The two sides of the exchange that an option is, at today's value, and how far they are apart.
struct Sides {
    Sum asset;      // forward, discounted
    Sum cash;       // strike, discounted
    double factor;  // asset / underlying
    Sum x;          // ln(asset / cash), from the underlying, so that it loses nothing near the money
    Sum excess;     // asset - cash, from x where they are close: their difference would be all rounding
};

INLINE Sum low_of(const Sides &made) { return chosen(made.asset.value < made.cash.value, made.asset, made.cash); }
INLINE Sum high_of(const Sides &made) { return chosen(made.asset.value < made.cash.value, made.cash, made.asset); }
// |x|
INLINE Sum distance_of(const Sides &made) { return chosen(made.x.value < 0.0, negative(made.x), made.x); }

// exp(-rate years), without the error that rounding the product would bring.
INLINE Sum discount_of(double rate, double years) {
    const double product = rate * years;
    return exp_sum(-product, -fma(rate, years, -product));
}

INLINE Sides sides_of(double underlying, double strike, double years, double rate, double dividend, bool black) {
    const double cost = black ? rate : dividend;
    const Sum factor = discount_of(cost, years), asset = times({underlying, 0.0}, factor);
    const Sum cash = times({strike, 0.0}, discount_of(rate, years));
    const double carried = (rate - cost) * years, turn = underlying < strike ? -1.0 : 1.0;
    const Sum moneyness = log_ratio(turn > 0.0 ? underlying : strike, turn > 0.0 ? strike : underlying);
    const Sum first = sum_of(turn * moneyness.value, carried);
    const double lost = first.lost + turn * moneyness.lost + fma(rate - cost, years, -carried);
    const Sum x = settled({first.value, lost});
    Sides made{asset, cash, factor.value, x, {0.0, 0.0}};
    const Sum distance = distance_of(made), close = times(low_of(made), expm1_small(distance));
    const bool near = distance.value < EXPM1_MOST;
    made.excess = chosen(near, chosen(x.value < 0.0, negative(close), close), plus(asset, negative(cash)));
    return made;
}

INLINE double positive(double value) { return truth(value > 0.0) * truth(value <= LARGEST); }

// 1 for an option, 0 for anything else.
INLINE double is_option(double sign, double spot, double strike, double years, const Sides &made) {
    return truth(fabs(sign) == 1.0) * positive(spot) * positive(strike) * truth(years >= 0.0) *
           truth(years <= LARGEST) * positive(made.asset.value) * positive(made.cash.value) *
           truth(fabs(made.x.value) < MOST_X);
}

struct Bell {
    Sum z1, z2;        // a - h, a + h
    Sum power;         // -z1^2 / 2
    Sum value;         // exp(power)
    Sum s;
    double a, inverse;  // 1 / s
};

// The bell curve at a - h for a = distance / s and h = s / 2, without the error that rounding them would bring into
// the exponent.
INLINE Bell bell_at(Sum distance, Sum s) {
    const double inverse = quotient(1.0, s.value), far = distance.value * inverse;
    const double a = far > MOST_A ? MOST_A : far;
    const double h = 0.5 * s.value, h_lost = 0.5 * s.lost;
    const double left = (fma(-a, s.value, distance.value) + fma(-a, s.lost, distance.lost)) * inverse;
    const double a_lost = far > MOST_A ? 0.0 : left;
    const Sum z1 = plus({a, a_lost}, {-h, -h_lost}), z2 = plus({a, a_lost}, {h, h_lost});
    const double square = z1.value * z1.value, square_lost = fma(z1.value, z1.value, -square);
    const Sum power{-0.5 * square, fma(-0.5, square_lost, -z1.value * z1.lost)};
    return {z1, z2, power, exp_sum(power.value, power.lost), s, a, inverse};
}

// The two lines above without n(z1): R(z1) - R(z2) where z1 is `near`, R(-z1) + R(z2) elsewhere; and R(z2).
// Where they are closer than the sums keep apart, R(z1) - R(z2) is -R'(z2) s = (1 - z2 R(z2)) s.
INLINE MillsSums lines_of(const Bell &bell, bool near) {
    const MillsSums sums = mills_sums(chosen(near, bell.z1, negative(bell.z1)), bell.z2);
    const Sum fall = plus({1.0, 0.0}, negative(times(bell.z2, sums.second))), close = times(fall, bell.s);
    const Sum below = chosen(bell.s.value < APART, close, sums.difference);
    return {chosen(near, below, plus(sums.difference, scaled(2.0, sums.second))), sums.second};
}
