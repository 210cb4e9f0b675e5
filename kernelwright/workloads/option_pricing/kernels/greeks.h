// Price and Greeks of one option, all from two values of Mills' ratio and one exponential:
//     N(-z1) = n(z1) R(z1), N(-z2) = n(z2) R(z2), and A n(d1) = min(A, B) n(z1),
// each from its small side, so that a put deep out of the money has as many digits as its call. The price is kept as a
// sum to the end, and rounded once. LEVEL: 0 for the price alone, 1 for the first order, 2 for all.
#pragma once
#include "black.h"
#include "results.h"

constexpr double LEAST_S = 1e-150, MOST_S = 1e100;  // within these, squares neither overflow nor vanish
constexpr double MOST_D = 1e3;                      // n(d) has vanished long before

struct Option {
    double sign, spot, strike, years, rate, dividend, sigma;
};

// What both orders need.
struct Shape {
    double d1, d2, weight;  // weight: A n(d1)
    double inverse;         // 1 / s
    double steep;           // weight / spot
    double by_spot;         // 1 / spot
    Root root;
};

INLINE Values first_order(const Option &o, bool black, const Sides &made, const Shape &at, double price, double one,
                          double two) {
    const double cash = made.cash.value * two, decay = at.weight * (0.5 * o.sigma) * at.root.inverse;
    const double carried = o.sign * fma(o.dividend, made.asset.value * one, -o.rate * cash);
    Values out{};
    out.price = price;
    out.delta = o.sign * made.factor * one;
    out.gamma = at.steep * at.by_spot * at.inverse;
    out.vega = at.weight * at.root.value;
    out.theta = (black ? o.rate * price : carried) - decay;
    out.rho = o.years * (black ? -price : o.sign * cash);
    return out;
}

// Derivatives of these (Haug, The Complete Guide to Option Pricing Formulas, 2.2 to 2.6), those by time with the sign
// of theta: as time passes. `turn` is the derivative of d1 by the time to expiry.
INLINE void second_order(const Option &o, bool black, const Shape &at, Values &out) {
    const double cost = black ? o.rate : o.dividend, sigma = o.sigma < LEAST_S ? LEAST_S : o.sigma;
    const double half = quotient(0.5, o.years < LEAST_S ? LEAST_S : o.years);
    const double by_sigma = quotient(1.0, sigma);
    const double turn = fma(-at.d2, half, (o.rate - cost) * at.inverse), product = at.d1 * at.d2;
    const double drift = fma(at.d1, turn, cost);
    out.vanna = -at.steep * at.d2 * by_sigma;
    out.volga = out.vega * product * by_sigma;
    out.charm = fma(cost, out.delta, -at.steep * turn);
    out.veta = out.vega * (drift - half);
    out.speed = -out.gamma * at.by_spot * fma(at.d1, at.inverse, 1.0);
    out.zomma = out.gamma * (product - 1.0) * by_sigma;
    out.color = out.gamma * (drift + half);
    out.ultima = -out.vega * by_sigma * by_sigma * fma(product, 1.0 - product, fma(at.d1, at.d1, at.d2 * at.d2));
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
        const double two = density.value * quotient(low.value, high_of(made).value) * second;
        const double one = near ? beyond : 1.0 - beyond, one_left = near ? 1.0 - beyond : beyond, two_left = 1.0 - two;
        const double n1 = below ? (call ? one : one_left) : (call ? two_left : two);
        const double n2 = below ? (call ? two : two_left) : (call ? one_left : one);
        const double z1 = within(bell.z1.value, -MOST_D, MOST_D), z2 = within(bell.z2.value, -MOST_D, MOST_D);
        const double by_spot = quotient(1.0, o.spot), steep = weight.value * by_spot;
        const Shape at{below ? -z1 : z2, below ? -z2 : z1, weight.value, bell.inverse, steep, by_spot, root};
        out = first_order(o, black, made, at, out.price, n1, n2);
        if constexpr (LEVEL > 1) second_order(o, black, at, out);
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
