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
constexpr double FAINT = 0x1p-900;  // share of min(A, B) below which a price is lifted by 2^LIFT, in two halves
constexpr double LIFT = 1200.0, HALF_LIFT = 0x1p600, HALF_DROP = 0x1p-600;
constexpr double CLOSEST = 0x1p-860; // |x| below which a faint option is spread out instead
constexpr double SPREAD = 0x1p800, UNSPREAD = 0x1p-800, SPREAD_OF_LIFT = 0x1p-400;
constexpr double VANISHED = 0x1p-600;   // lifted share of an option at the money whose volatility is no double
constexpr double SQRT_2_PI = 0x1.40d931ff62706p1, SQRT_2_PI_LOST = -0x1.a6a0d6f814637p-53;
constexpr double LN2 = 0x1.62e42fefa39efp-1;
constexpr double LARGE_ODDS = 1e200, LEAST_V = 1e-300;
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

// A price, ready for steps.
struct Sought {
    Sum distance;      // |x|
    Sum target;        // sqrt(2 pi) times the price's share of min(A, B), or that of what it falls short by
    double logarithm;  // of the target, without its lift
    double side;       // 1: objective ln(price), -1: ln(bound - price)
    double fault;
    double zero;       // 1 where no time value is left and the volatility is 0
    double lift;       // the target holds 2^lift times what it should
    double unit;       // distance and s are to be taken this many times
};

INLINE double guess(const Sought &of) {
    const double distance = of.distance.value, side = of.side, target = of.target.value;
    const bool lifted = of.lift > 0.0;
    const double half = exp_sum(-0.5 * distance, 0.0).value, v = target * half;
    const double odds = lifted ? LARGE_ODDS : quotient(distance, v < LEAST_V ? LEAST_V : v);
    const double tail = quotient(0.5 * SQRT_2_PI * (1.0 + quotient(1.0, half * half)), target);
    const double log_odds = log_normal(lifted ? distance : 1.0 + odds);
    const double m_faint = log_odds + 0.5 * distance - of.logarithm;
    const double m_below = lifted ? m_faint : (odds < 1e-4 ? odds : log_odds), m_above = log_normal(tail);
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
INLINE double last_step(Sum distance, double side, Sum target, double lift, double s) {
    const Bell bell = bell_at(distance, {s, 0.0});
    const Sum power = sum_of(lift * LN2_HIGH, bell.power.value);
    const Sum value = exp_sum(power.value, power.lost + fma(lift, LN2_LOW, bell.power.lost));
    const Sum line = lines_of(bell, side > 0.0).difference, reached = times(value, line);
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

// `whole` is the price out of the money or what it falls short by. A faint one is lifted, as neither its share nor the
// bell curve is a normal number; where s is not either, distance, price and s are spread alike, as such options are
// Bachelier's, homogeneous in the three.
INLINE Sought prepared(Sum whole, Sum low, Sum distance, double side, double fault, double zero, bool solved) {
    const bool faint = whole.value < FAINT * low.value, close = distance.value < CLOSEST;
    const double by = faint ? HALF_LIFT : 1.0, drop = faint ? HALF_DROP : 1.0;
    const double spread = faint ? (close ? SPREAD_OF_LIFT : 1.0) : 1.0, unit = spread < 1.0 ? UNSPREAD : 1.0;
    const double wider = spread < 1.0 ? SPREAD : 1.0, lift = faint ? (close ? 0.0 : LIFT) : 0.0;
    const Sum part = scaled(by, whole), base = scaled(drop, low);
    const double share = quotient(part.value, base.value), least = spread < 1.0 ? VANISHED : 0.0;
    const double taken = solved ? (share < least ? least : share) : 0.25;
    const double off = fma(-taken, base.value, part.value) + fma(-taken, base.lost, part.lost);
    const Sum exact{taken, solved ? quotient(off, base.value) : 0.0};
    const Sum target = scaled(solved ? spread : 1.0, times({SQRT_2_PI, SQRT_2_PI_LOST}, exact));
    const double held = solved ? lift : 0.0, logarithm = log_normal(target.value) - held * LN2;
    return {chosen(solved, scaled(wider, distance), {0.0, 0.0}), target, logarithm, side, fault, zero, held, unit};
}

INLINE Sought sought(double sign, double spot, double strike, double years, double rate, double dividend,
                     double given, bool black) {
    const double price = within(given, -LARGEST, LARGEST);  // an infinite one has no parts
    const Sides made = sides_of(spot, strike, years, rate, dividend, black);
    const Sum low = low_of(made), bound = chosen(sign > 0.0, made.asset, made.cash);
    const double intrinsic = sign * made.excess.value, inside = intrinsic > 0.0 ? -sign : 0.0;
    const Sum part = settled(plus({price, 0.0}, scaled(inside, made.excess)));
    const Sum rest = settled(plus(bound, {-price, 0.0}));
    const double paid = intrinsic > 0.0 ? price : 0.0;
    const double option = is_option(sign, spot, strike, years, made);
    const bool good = option * truth(years > 0.0) * truth(price == price) > 0.0;
    const double above = rest.value <= NOTHING * price ? ABOVE_BOUND : 0.0;
    const double outside = part.value < -SLACK * paid ? BELOW_INTRINSIC : above;
    const double fault = good ? outside : INVALID, zero = truth(part.value <= NOTHING * paid);
    // What cannot be solved is replaced by something that converges at once.
    const bool solved = fault + zero == 0.0, upper = part.value > rest.value;
    return prepared(chosen(upper, rest, part), low, distance_of(made), upper ? -1.0 : 1.0, fault, zero, solved);
}
