// Implied volatility to the precision that its price determines. Written by hand.
//
// As in Jäckel, "Let's Be Rational" (Wilmott, 2015): the price is brought to that of the option out of the
// money, the unknown is s = sigma sqrt(t), and steps are Householder's of order four. Otherwise it differs:
//   - The objective is ln(price) where the price is below half of its bound, and ln(bound - price) above. As
//     price / vega is a difference of Mills' ratios (black.h), a step needs neither exp nor a case by region.
//   - The first guess inverts the limit of small s (Bachelier's model) below, and the upper bound of Tehranchi,
//     "Uniform bounds for Black-Scholes implied volatility" (SIAM J. Fin. Math. 7, 2016), above.
//   - An option takes steps until one began within a tenth of its price, and then one last step whose residual
//     comes from the price itself and not from its logarithm. Its tile waits for it.
// ln(price) is concave in s, as its slope, vega / price, falls; steps are bounded besides, on both sides.
#include "black.h"
#include "faults.h"

namespace {

constexpr int MOST_STEPS = 24;
constexpr double CLOSE = 0.1;       // |residual| from which one last step is exact
constexpr double REACH = 0.7;       // how far z1 may go to the wrong side of 0; stays within MILLS_LEAST
constexpr double LEAST_SHARE = 1e-300, LOG_FROM = 1e-280;
constexpr double SQRT_2_PI = 0x1.40d931ff62706p1, SQRT_2_PI_LOST = -0x1.a6a0d6f814637p-53;
constexpr double SLACK = 0x1p-51;   // a price this much below a positive intrinsic value is rounding, not a fault

// a^2 of the small-s limit by m = ln(1 + |x| / v), v the volatility at the money: r^4 over a polynomial, r = sqrt m.
// Least squares on 1e-3 <= a <= 38; largest error 0.4 %.
constexpr double BELOW_TOP[] = {0.41259530198705846, -0.3818206944525637, 1.0};
constexpr double BELOW_BOTTOM[] = {0.20702508507650294, -0.15411720670826104, 1.67160061052887, -0.344540243052012, 1.0};
// z^2 of a normal tail Q by m = -ln(2 Q): m^2 over a polynomial. Largest error 0.06 %.
constexpr double ABOVE_TOP[] = {0.03513447606292024, 0.8724549485012437, 1.5707963267948966};
constexpr double ABOVE_BOTTOM[] = {0.017600870869050208, 0.4891987148170295, 1.551007842257808, 1.0};

struct Search {
    alignas(64) double distance[TILE];  // |x|
    alignas(64) double lost[TILE];      // what it was rounded by
    alignas(64) double side[TILE];      // 1: objective ln(price), -1: ln(bound - price)
    alignas(64) double target[TILE];    // sqrt(2 pi) times the price's share of min(A, B), or the gap's
    alignas(64) double target_lost[TILE];
    alignas(64) double logarithm[TILE];
    alignas(64) double s[TILE];
    alignas(64) double fault[TILE];
    alignas(64) double open[TILE];      // 1 until the residual was small
    alignas(64) double zero[TILE];      // 1 where no time value is left and the volatility is 0
};

// s where the solution can be: z1 >= -0.674 where the price is below half of its bound, z1 <= 0 where it is above.
INLINE double clamp(double s, double distance, double side) {
    const double most = REACH + std::sqrt(REACH * REACH + 2.0 * distance), least = 2.0 * distance / most;
    return side > 0.0 ? (s > most ? most : s) : (s < least ? least : s);
}

INLINE double guess(double distance, double side, double target) {
    const double half = exp_sum(-0.5 * distance, 0.0), v = target * half;
    const double odds = distance / (v < LEAST_SHARE ? LEAST_SHARE : v);
    const double tail = 0.5 * SQRT_2_PI * (1.0 + 1.0 / (half * half)) / target;
    const double m_below = odds < 1e-4 ? odds : log_normal(1.0 + odds), m_above = log_normal(tail);
    const double r = std::sqrt(m_below), m = m_above > 0.0 ? m_above : 0.0;
    const double square = m_below * m_below * polynomial(BELOW_TOP, r) / polynomial(BELOW_BOTTOM, r);
    const double first = v * std::sqrt((odds * odds + 1e-200) / (square + 1e-200));
    // Next order in h: ln(price) falls by h^2 (1/2 - M3 / 6 M1), and changes by about 1 + a^2 per change of ln s.
    const double bent = 0.25 * first * first, h2 = bent > 1.0 ? 1.0 : bent;
    const double below = first * (1.0 + h2 * (0.5 - 1.0 / (3.0 + square)) / (1.0 + square));
    const double above = 2.0 * m * std::sqrt(polynomial(ABOVE_TOP, m) / polynomial(ABOVE_BOTTOM, m));
    return clamp(side > 0.0 ? below : above, distance, side);
}

// Share of the step in s that Householder's method of order four takes for residual / (s d residual / ds).
INLINE double householder(double newton, double w, double a, double s) {
    const double second = a * a - 0.25 * s * s, third = -3.0 * a * a - 0.25 * s * s;
    const double h2 = second - w, h3 = (second - w) * (second - 2.0 * w) + third;
    const double bottom = 1.0 + newton * (h2 + newton * h3 * (1.0 / 6.0));
    const double full = newton * (1.0 + 0.5 * newton * h2) / bottom;
    const double taken = bottom > 0.2 ? full : newton;
    return taken < -0.6 ? -0.6 : (taken > 2.0 ? 2.0 : taken);
}

struct Step {
    double share;     // of s, to be added
    double residual;  // before the step
};

// Where to go from at.s[i]; `last` takes the residual from the price itself.
INLINE Step step(const Search &at, int i, bool last) {
    const double distance = at.distance[i], side = at.side[i], s = at.s[i], target = at.target[i];
    const double a = distance / s, h = 0.5 * s, z = a - h;
    const MillsPair pair = mills_pair(side * z, a + h, side > 0.0 ? s : 2.0 * a);
    const double value = pair.difference + (side > 0.0 ? 0.0 : 2.0 * pair.second);
    double residual = (log_normal(value) - 0.5 * z * z) - at.logarithm[i];
    if (last) {
        const double reached = bell_at({distance, at.lost[i]}, {s, 0.0}, a, h).value * value;
        const double off = ((reached - target) - at.target_lost[i]) / target;
        const double exact = off * (1.0 - off * (0.5 - off * (1.0 / 3.0 - off * (0.25 - off * 0.2))));
        residual = target < LOG_FROM ? residual : exact;
    }
    const double w = side * s / value;  // s times the objective's derivative
    return {householder(-residual / w, w, a, s), residual};
}

// (s + more) / sqrt(years), rounded once.
INLINE double volatility_of(double s, double more, double years) {
    const Sum root = root_of(years);
    const double first = s / root.value;
    return first + (std::fma(-first, root.value, s) - first * root.lost + more) / root.value;
}

INLINE void prepare(const Tile &tile, int width, bool black, Search &at) {
    const double *const signs = tile.row[0], *const spots = tile.row[1], *const strikes = tile.row[2];
    const double *const times = tile.row[3], *const rates = tile.row[4], *const yields = tile.row[5];
    const double *const prices = tile.row[6];
#pragma omp simd
    for (int i = 0; i < width; ++i) {
        const double sign = signs[i], spot = spots[i], strike = strikes[i], years = times[i];
        const Sides made = sides_of(spot, strike, years, rates[i], yields[i], black);
        const double price = prices[i], bound = sign > 0.0 ? made.asset : made.cash;
        const double low = made.asset < made.cash ? made.asset : made.cash;
        const double intrinsic = sign * made.excess, inside = intrinsic > 0.0 ? intrinsic : 0.0;
        const double part = price - inside, rest = bound - price, share = part / low, gap = rest / low;
        const double allowed = intrinsic > 0.0 ? -SLACK * price / low : 0.0;
        const double option = is_option(sign, spot, strike, years, made);
        const bool good = option * truth(years > 0.0) * truth(price == price) > 0.0;
        const double above = gap <= 0.0 ? ABOVE_BOUND : 0.0, outside = share < allowed ? BELOW_INTRINSIC : above;
        const double fault = good ? outside : INVALID, zero = truth(share < LEAST_SHARE);
        const bool solved = fault + zero == 0.0;
        at.fault[i] = fault;
        at.zero[i] = zero;
        at.side[i] = share > gap ? -1.0 : 1.0;
        // What cannot be solved is replaced by something that converges at once.
        at.distance[i] = solved ? std::fabs(made.x) : 0.0;
        at.lost[i] = solved ? (made.x < 0.0 ? -made.x_lost : made.x_lost) : 0.0;
        const double taken = solved ? (share > gap ? gap : share) : 0.25, whole = share > gap ? rest : part;
        const double taken_lost = solved ? std::fma(-taken, low, whole) / low : 0.0;
        const double target = SQRT_2_PI * taken;
        at.target[i] = target;
        at.target_lost[i] = std::fma(SQRT_2_PI, taken, -target) + (SQRT_2_PI * taken_lost + SQRT_2_PI_LOST * taken);
        at.logarithm[i] = log_normal(at.target[i]);
        at.s[i] = guess(at.distance[i], at.side[i], at.target[i]);
        at.open[i] = 1.0;
    }
}

// One step of each option that is open still: what an option goes through does not depend on its neighbours.
INLINE double steps(Search &at, int width) {
    double worst = 0.0;
#pragma omp simd reduction(max : worst)
    for (int i = 0; i < width; ++i) {
        const Step next = step(at, i, false);
        const double open = at.open[i], left = open * std::fabs(next.residual);
        at.s[i] = clamp(at.s[i] * (1.0 + open * next.share), at.distance[i], at.side[i]);
        at.open[i] = left < CLOSE ? 0.0 : open;
        worst = left > worst ? left : worst;
    }
    return worst;
}

INLINE void last_steps(Search &at, const double *years, int width) {
#pragma omp simd
    for (int i = 0; i < width; ++i) {
        const double more = at.s[i] * step(at, i, true).share;
        const double sigma = at.zero[i] > 0.0 ? 0.0 : volatility_of(at.s[i], more, years[i]);
        at.s[i] = at.fault[i] == 0.0 ? sigma : NOT_A_NUMBER;
    }
}

}  // namespace

// n options, contiguous inputs (one value where the input's bit is set in `scalars`); `out` gets n volatilities
// per square root of a year. NaN where there is none, which `faults` then counts.
extern "C" void implied(const double *sign, const double *spot, const double *strike, const double *years,
                        const double *rate, const double *dividend, const double *price, double *out,
                        std::int64_t *faults, std::int64_t n, std::int64_t scalars, std::int64_t model) {
    const double *const from[INPUTS] = {sign, spot, strike, years, rate, dividend, price};
    clear(faults);
    over_tiles(from, n, scalars, [&](const Tile &tile, std::int64_t first, int count, int width) {
        Search at;
        prepare(tile, width, model == BLACK, at);
        for (int taken = 0; taken < MOST_STEPS; ++taken)
            if (steps(at, width) < CLOSE) break;
        last_steps(at, tile.row[3], width);
        std::memcpy(out + first, at.s, sizeof(double) * std::size_t(count));
        enter(faults, at.fault, first, count);
    });
}
