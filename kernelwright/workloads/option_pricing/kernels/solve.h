// Implied volatility of one option, to the precision that its price determines.
//
// As in Jäckel, "Let's Be Rational" (Wilmott, 2015): the price is brought to that of the option out of the
// money, the unknown is s = sigma sqrt(t), and steps are Householder's of order four. Otherwise it differs:
//   - The objective is ln(price) where the price is below half of its bound, and ln(bound - price) above. As
//     price / vega is a difference of Mills' ratios (black.h), a step needs neither exp nor a case by region.
//   - The first guess inverts the limit of small s (Bachelier's model) below, and the upper bound of Tehranchi,
//     "Uniform bounds for Black-Scholes implied volatility" (SIAM J. Fin. Math. 7, 2016), above.
//   - An option takes steps until one began within a tenth of its price, and then one last step whose residual
//     comes from the price itself, kept as a sum throughout, and not from its logarithm.
// ln(price) is concave in s, as its slope, vega / price, falls; steps are bounded besides, on both sides.
#pragma once
#include "black.h"

constexpr int MOST_STEPS = 24;
constexpr double CLOSE = 0.1;       // |residual| from which one last step is exact
constexpr double REACH = 0.7;       // how far z1 may go to the wrong side of 0; stays within MILLS_LEAST
constexpr double LEAST_SHARE = 1e-300;
constexpr double SQRT_2_PI = 0x1.40d931ff62706p1, SQRT_2_PI_LOST = -0x1.a6a0d6f814637p-53;
constexpr double SLACK = 0x1p-51;   // a price this much below a positive intrinsic value is rounding, not a fault
constexpr double NOTHING = 0x1p-54; // so small a part of the price, time value or distance to the bound, is rounding

// a^2 of the small-s limit by m = ln(1 + |x| / v), v the volatility at the money: r^4 over a polynomial, r = sqrt m.
// Least squares on 1e-3 <= a <= 38; largest error 0.4 %.
TABLE double BELOW_TOP[] = {0.41259530198705846, -0.3818206944525637, 1.0};
TABLE double BELOW_BOTTOM[] = {0.20702508507650294, -0.15411720670826104, 1.67160061052887, -0.344540243052012, 1.0};
// z^2 of a normal tail Q by m = -ln(2 Q): m^2 over a polynomial. Largest error 0.06 %.
TABLE double ABOVE_TOP[] = {0.03513447606292024, 0.8724549485012437, 1.5707963267948966};
TABLE double ABOVE_BOTTOM[] = {0.017600870869050208, 0.4891987148170295, 1.551007842257808, 1.0};

// s where the solution can be: z1 >= -0.674 where the price is below half of its bound, z1 <= 0 where it is above.
INLINE double clamp(double s, double distance, double side) {
    const double most = REACH + sqrt(REACH * REACH + 2.0 * distance), least = quotient(2.0 * distance, most);
    return side > 0.0 ? (s > most ? most : s) : (s < least ? least : s);
}

INLINE double guess(double distance, double side, double target) {
    const double half = exp_sum(-0.5 * distance, 0.0).value, v = target * half;
    const double odds = quotient(distance, v < LEAST_SHARE ? LEAST_SHARE : v);
    const double tail = quotient(0.5 * SQRT_2_PI * (1.0 + quotient(1.0, half * half)), target);
    const double m_below = odds < 1e-4 ? odds : log_normal(1.0 + odds), m_above = log_normal(tail);
    const double r = sqrt(m_below), m = m_above > 0.0 ? m_above : 0.0;
    const double square = m_below * m_below * quotient(polynomial(BELOW_TOP, r), polynomial(BELOW_BOTTOM, r));
    // v sqrt(odds^2 / square), where odds^2 neither vanishes nor overflows.
    const bool wide = odds < 1.0;
    const double first = (wide ? v : distance) * sqrt(quotient(wide ? odds * odds + 1e-200 : 1.0, square + 1e-200));
    // Next order in h: ln(price) falls by h^2 (1/2 - M3 / 6 M1), and changes by about 1 + a^2 per change of ln s.
    const double bent = 0.25 * first * first, h2 = bent > 1.0 ? 1.0 : bent;
    const double below = first * (1.0 + h2 * quotient(0.5 - quotient(1.0, 3.0 + square), 1.0 + square));
    const double above = 2.0 * m * sqrt(quotient(polynomial(ABOVE_TOP, m), polynomial(ABOVE_BOTTOM, m)));
    return clamp(side > 0.0 ? below : above, distance, side);
}

// Share of the step in s that Householder's method of order four takes for residual / (s d residual / ds).
INLINE double householder(double newton, double w, double a, double s) {
    const double second = a * a - 0.25 * s * s, third = -3.0 * a * a - 0.25 * s * s;
    const double h2 = second - w, h3 = (second - w) * (second - 2.0 * w) + third;
    const double bottom = 1.0 + newton * (h2 + newton * h3 * (1.0 / 6.0));
    const double full = quotient(newton * (1.0 + 0.5 * newton * h2), bottom);
    const double taken = bottom > 0.2 ? full : newton;
    return taken < -0.6 ? -0.6 : (taken > 2.0 ? 2.0 : taken);
}

struct Step {
    double share;     // of s, to be added
    double residual;  // before the step
};

// Where to go from s; `logarithm` is that of the target.
INLINE Step step(double distance, double side, double logarithm, double s) {
    const double inverse = quotient(1.0, s), a = distance * inverse, h = 0.5 * s, z = a - h;
    const MillsPair pair = mills_pair(side * z, a + h, side > 0.0 ? s : 2.0 * a);
    const double value = pair.difference + (side > 0.0 ? 0.0 : 2.0 * pair.second);
    const double residual = (log_normal(value) - 0.5 * z * z) - logarithm;
    const double share = side * value * inverse;  // 1 / share: s times the objective's derivative
    return {householder(-residual * share, quotient(1.0, share), a, s), residual};
}

// What is to be added to s: the last step, from the price itself.
INLINE double last_step(Sum distance, double side, Sum target, double s) {
    const Bell bell = bell_at(distance, {s, 0.0});
    const Sum line = lines_of(bell, side > 0.0).difference, reached = times(bell.value, line);
    const double off = quotient((reached.value - target.value) + (reached.lost - target.lost), target.value);
    const double residual = off * (1.0 - off * (0.5 - off * (1.0 / 3.0 - off * (0.25 - off * 0.2))));
    const double share = side * line.value * bell.inverse;
    return s * householder(-residual * share, quotient(1.0, share), bell.a, s);
}

// (s + more) / sqrt(years), rounded once.
INLINE double volatility_of(double s, double more, double years) {
    const Root root = root_of(years);
    const double first = s * root.inverse;
    return first + (fma(-first, root.value, s) - first * root.lost + more) * root.inverse;
}

// A price, ready for steps.
struct Sought {
    Sum distance;      // |x|
    Sum target;        // sqrt(2 pi) times the price's share of min(A, B), or that of what it falls short by
    double side;       // 1: objective ln(price), -1: ln(bound - price)
    double fault;
    double zero;       // 1 where no time value is left and the volatility is 0
};

INLINE Sought sought(double sign, double spot, double strike, double years, double rate, double dividend,
                     double given, bool black) {
    const double price = within(given, -LARGEST, LARGEST);  // an infinite one has no parts
    const Sides made = sides_of(spot, strike, years, rate, dividend, black);
    const Sum low = low_of(made), bound = chosen(sign > 0.0, made.asset, made.cash);
    const double intrinsic = sign * made.excess.value, inside = intrinsic > 0.0 ? -sign : 0.0;
    const Sum part = settled(plus({price, 0.0}, scaled(inside, made.excess)));
    const Sum rest = settled(plus(bound, {-price, 0.0}));
    const double share = quotient(part.value, low.value), gap = quotient(rest.value, low.value);
    const double unit = intrinsic > 0.0 ? quotient(price, low.value) : 0.0, least = NOTHING * unit;
    const double option = is_option(sign, spot, strike, years, made);
    const bool good = option * truth(years > 0.0) * truth(price == price) > 0.0;
    const double above = rest.value <= NOTHING * price ? ABOVE_BOUND : 0.0;
    const double outside = share < -SLACK * unit ? BELOW_INTRINSIC : above;
    const double fault = good ? outside : INVALID, zero = truth(share < (least > LEAST_SHARE ? least : LEAST_SHARE));
    const bool solved = fault + zero == 0.0, upper = share > gap;
    // What cannot be solved is replaced by something that converges at once.
    const Sum whole = chosen(upper, rest, part), distance = distance_of(made);
    const double taken = solved ? (upper ? gap : share) : 0.25;
    const double lost = quotient(fma(-taken, low.value, whole.value) + fma(-taken, low.lost, whole.lost), low.value);
    const Sum target = times({SQRT_2_PI, SQRT_2_PI_LOST}, {taken, solved ? lost : 0.0});
    return {chosen(solved, distance, {0.0, 0.0}), target, upper ? -1.0 : 1.0, fault, zero};
}
