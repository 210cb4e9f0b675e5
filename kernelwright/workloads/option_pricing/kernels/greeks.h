// Price and Greeks of one option, all from two values of Mills' ratio and one exponential:
//     N(-z1) = n(z1) R(z1), N(-z2) = n(z2) R(z2), and A n(d1) = min(A, B) n(z1),
// each from its small side, so that a put deep out of the money has as many digits as its call. The price is kept as a
// sum to the end, and rounded once. LEVEL: 0 for the price alone, 1 for the first order, 2 for all.
#pragma once
#include "black.h"
#include "results.h"

constexpr double LEAST_S = 1e-300, MOST_S = 1e100;  // within these, 1 / s is a normal number and s^2 does not overflow
constexpr double NO_SQUARE = 1e-100;                // d1^2 + d2^2 up to which their product counts as nothing beside 1
constexpr double MOST_D = 1e3;                      // n(d) has vanished long before

struct Option {
    double sign, spot, strike, years, rate, dividend, sigma;
};

// What both orders need.
struct Shape {
    double d1, d2, q1, q2;  // q1 = d1 / s, q2 = d2 / s
    double weight;          // A n(d1)
    double inverse;         // 1 / s
    double steep;           // weight / spot
    double by_spot;         // 1 / spot
    double tied, open;      // 0; not a number where time and volatility are both 0, or the order of limits decides
    Root root;
};

INLINE Values first_order(const Option &o, bool black, const Sides &made, const Shape &at, double price, double one,
                          double two) {
    const double cash = made.cash.value * two;
    const double decay = product_of(at.weight, (0.5 * o.sigma) * at.root.inverse);
    const double carried = o.sign * fma(o.dividend, made.asset.value * one, -o.rate * cash);
    Values out{};
    out.price = price;
    out.delta = o.sign * made.factor * one;
    out.gamma = product_of(product_of(at.steep, at.by_spot), at.inverse);
    out.vega = at.weight * at.root.value;
    out.theta = (black ? o.rate * price : carried) - decay;
    out.rho = o.years * (black ? -price : o.sign * cash);
    return out;
}

// Derivatives of these (Haug, The Complete Guide to Option Pricing Formulas, 2.2 to 2.6), those by time with the sign
// of theta: as time passes. With q1 = d1 / s and q2 = d2 / s they keep their limits as s falls to 0: d2 / sigma is
// q2 sqrt(t), and the derivative of d1 by the time to expiry is push / s.
INLINE void second_order(const Option &o, double cost, const Shape &at, Values &out) {
    const double by_sigma = inverse_or_infinite(o.sigma), half = 0.5 * inverse_or_infinite(o.years);
    const double by_root1 = product_of(at.q1, at.root.value), by_root2 = product_of(at.q2, at.root.value);
    const double push = (o.rate - cost) - product_of(0.5 * at.q2, o.sigma * o.sigma), product = at.d1 * at.d2;
    const double drift = fma(at.q1, push, cost), squares = fma(at.d1, at.d1, at.d2 * at.d2);
    const double bent = fma(product, 1.0 - product, squares);
    const double ratios = fma(by_root1, by_root2, fma(by_root1, by_root1, by_root2 * by_root2));
    const double far = product_of(product_of(out.vega * bent, by_sigma), by_sigma);
    out.vanna = at.open - product_of(at.steep, by_root2);
    out.volga = at.open + product_of(out.vega * at.d1, by_root2);
    out.charm = at.tied + fma(cost, out.delta, -product_of(product_of(at.steep, push), at.inverse));
    out.veta = at.open + product_of(out.vega, drift) - product_of(at.weight, 0.5 * at.root.inverse);
    out.speed = -product_of(product_of(out.gamma, at.by_spot), at.q1 + 1.0);
    out.zomma = product_of(out.gamma * (product - 1.0), by_sigma);
    out.color = product_of(out.gamma, drift + half);
    const double near = product_of(out.vega, ratios);
    out.ultima = at.open - (squares > NO_SQUARE ? far : near);
}

// The shape at the money where s is 0: q1 is then 1 / 2 if it is the volatility that falls to 0, and what the drift
// makes of it if it is the time. If it is both, what depends on which falls first has no limit and is not a number.
INLINE Shape shape_of(const Option &o, double cost, const Sides &made, const Bell &bell, double weight, double steep) {
    const Root root = root_of(o.years);
    const double wide = o.sigma * root.value, drive = o.rate - cost, variance = o.sigma * o.sigma;
    const bool below = made.x.value < 0.0, none = wide < LEAST_S, expired = truth(o.years <= 0.0) * o.sigma > 0.0;
    const double z1 = within(bell.z1.value, -MOST_D, MOST_D), z2 = within(bell.z2.value, -MOST_D, MOST_D);
    const double d1 = below ? -z1 : z2, d2 = below ? -z2 : z1, exact = inverse_or_infinite(wide);
    const double drifted = product_of(drive, inverse_or_infinite(variance)), bent = expired ? drifted : 0.0;
    const double ratio1 = d1 * bell.inverse, ratio2 = d2 * bell.inverse, inverse = none ? exact : bell.inverse;
    const double q1 = none ? bent + 0.5 : ratio1, q2 = none ? bent - 0.5 : ratio2;
    const double both = truth(o.sigma <= 0.0) * truth(o.years <= 0.0) * truth(fabs(made.x.value) <= 0.0);
    const double tied = both > 0.0 ? NOT_A_NUMBER : 0.0, open = both * truth(fabs(drive) > 0.0) > 0.0 ? tied : 0.0;
    return {d1, d2, q1, q2, weight, inverse, steep + open, inverse_or_infinite(o.spot), tied, open, root};
}

template <int LEVEL> INLINE Values values_of(const Option &o, bool black, const Sides &made) {
    const Root root = root_of(o.years);
    const double wide = o.sigma * root.value, s = within(wide, LEAST_S, MOST_S);
    const double s_lost = s == wide ? fma(o.sigma, root.value, -wide) + o.sigma * root.lost : 0.0;
    const Bell bell = bell_at(distance_of(made), {s, s_lost});
    const bool near = bell.z1.value >= NEAR, below = made.x.value < 0.0, call = o.sign > 0.0;
    const MillsSums lines = lines_of(bell, near);
    const Sum density = times({INVERSE_SQRT_2_PI, INVERSE_SQRT_2_PI_LOST}, bell.value), low = low_of(made);
    const Sum weight = times(low, density), part = times(weight, lines.difference);
    const Sum otm = chosen(near, part, plus(low, negative(part)));
    const double held = wide < LEAST_S ? 0.0 : 1.0, inside = o.sign * made.excess.value > 0.0 ? o.sign : 0.0;
    const Sum price = plus(scaled(inside, made.excess), scaled(held, otm));
    Values out{};
    out.price = price.value + price.lost;
    if constexpr (LEVEL > 0) {
        // Tail probabilities beyond z1 and z2, and what remains. N(sign d1) and N(sign d2): d1 = -z1, d2 = -z2 where
        // A < B; d1 = z2, d2 = z1 elsewhere.
        const double second = lines.second.value;
        const double beyond = density.value * (lines.difference.value + (near ? second : -second));
        const double ratio = quotient(low.value, high_of(made).value), two = density.value * ratio * second;
        const double one = near ? beyond : 1.0 - beyond, one_left = near ? 1.0 - beyond : beyond, two_left = 1.0 - two;
        const double n1 = below ? (call ? one : one_left) : (call ? two_left : two);
        const double n2 = below ? (call ? two : two_left) : (call ? one_left : one);
        const double cost = black ? o.rate : o.dividend, share = below ? 1.0 : ratio;
        const double steep = made.factor * density.value * share;
        const Shape at = shape_of(o, cost, made, bell, weight.value, steep);
        out = first_order(o, black, made, at, out.price, n1, n2);
        out.delta += at.open;
        if constexpr (LEVEL > 1) second_order(o, cost, at, out);
    }
    return out;
}

struct Answer {
    Values values;
    double fault;  // 0 where the option can be answered, else INVALID
};

// By value: a variable of a vectorized loop must not have its address taken.
template <int LEVEL>
INLINE Answer answer(double sign, double spot, double strike, double years, double rate, double dividend, double sigma,
                     bool black) {
    const Sides made = sides_of(spot, strike, years, rate, dividend, black);
    const double option = is_option(sign, spot, strike, years, made);
    const bool good = option * truth(sigma >= 0.0) * truth(sigma <= LARGEST) > 0.0;
    return {values_of<LEVEL>({sign, spot, strike, years, rate, dividend, sigma}, black, made), good ? 0.0 : INVALID};
}
