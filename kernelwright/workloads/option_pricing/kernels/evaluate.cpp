// Price, delta, gamma, vega, theta and rho of European options in one pass. Written by hand.
//
// Every tail probability comes from the same two values of Mills' ratio and one exponential:
//     N(-z1) = n(z1) R(z1), N(-z2) = n(z2) R(z2), and A n(d1) = min(A, B) n(z1),
// each from its small side, so that a put deep out of the money has as many digits as its call.
#include "black.h"
#include "faults.h"

namespace {

constexpr int RESULTS = 6;
constexpr std::int64_t PRICE_ONLY = 1;
constexpr double LEAST_S = 1e-150, MOST_S = 1e100;  // within these, squares neither overflow nor vanish

struct Greeks {
    double price, delta, gamma, vega, theta, rho;
};

// Tail probabilities beyond z1 and z2, and what remains.
struct Tails {
    double one, one_left, two, two_left;
};

INLINE Greeks greeks_of(double sign, double spot, double years, double rate, double dividend, double sigma,
                        const Sides &made, bool black) {
    const Sum roots = root_of(years);
    const double root = roots.value, asset = made.asset, cash = made.cash;
    const double wide = sigma * root, s = wide < LEAST_S ? LEAST_S : (wide > MOST_S ? MOST_S : wide);
    const double s_lost = s == wide ? std::fma(sigma, root, -wide) + sigma * roots.lost : 0.0;
    const double low = asset < cash ? asset : cash, high = asset < cash ? cash : asset;
    const bool below = made.x < 0.0, call = sign > 0.0;
    const double distance = below ? -made.x : made.x, lost = below ? -made.x_lost : made.x_lost;
    const double a = distance / s, h = 0.5 * s;
    const Bell bell = bell_at({distance, lost}, {s, s_lost}, a, h);
    const double density = INVERSE_SQRT_2_PI * bell.value;
    const bool near = bell.z >= NEAR;
    const MillsPair pair = mills_pair(near ? bell.z : -bell.z, a + h, near ? s : 2.0 * a);
    const double first = density * (pair.difference + pair.second);
    const double otm = near ? density * pair.difference : 1.0 - density * (pair.difference + 2.0 * pair.second);
    const double two = density * (low / high) * pair.second;
    const Tails tail{near ? first : 1.0 - first, near ? 1.0 - first : first, two, 1.0 - two};
    // N(sign d1) and N(sign d2): d1 = -z1, d2 = -z2 where A < B; d1 = z2, d2 = z1 elsewhere.
    const double n1 = below ? (call ? tail.one : tail.one_left) : (call ? tail.two_left : tail.two);
    const double n2 = below ? (call ? tail.two : tail.two_left) : (call ? tail.one_left : tail.one);
    const double intrinsic = sign * made.excess;
    Greeks out;
    out.price = (intrinsic > 0.0 ? intrinsic : 0.0) + (wide < LEAST_S ? 0.0 : low * otm);
    out.delta = sign * made.factor * n1;
    const double weight = low * density;
    out.gamma = weight / spot / (spot * s);
    out.vega = weight * root;
    const double decay = weight * sigma / (2.0 * (root < LEAST_S ? LEAST_S : root));
    const double carried = sign * (dividend * asset * n1 - rate * cash * n2);
    out.theta = (black ? rate * out.price : carried) - decay;
    out.rho = years * (black ? -out.price : sign * cash * n2);
    return out;
}

// All rows, or the first alone: the compiler then leaves the rest out.
template <bool ALL>
INLINE void work(const Tile &tile, int width, bool black, double (&out)[RESULTS][TILE], double *fault) {
    const double *const signs = tile.row[0], *const spots = tile.row[1], *const strikes = tile.row[2];
    const double *const times = tile.row[3], *const rates = tile.row[4], *const yields = tile.row[5];
    const double *const sigmas = tile.row[6];
#pragma omp simd
    for (int i = 0; i < width; ++i) {
        const double sign = signs[i], spot = spots[i], strike = strikes[i], years = times[i];
        const double rate = rates[i], dividend = yields[i], sigma = sigmas[i];
        const Sides made = sides_of(spot, strike, years, rate, dividend, black);
        const Greeks g = greeks_of(sign, spot, years, rate, dividend, sigma, made, black);
        const double option = is_option(sign, spot, strike, years, made);
        const bool good = option * truth(sigma >= 0.0) * truth(sigma < INFINITE) > 0.0;
        out[0][i] = good ? g.price : NOT_A_NUMBER;
        fault[i] = good ? 0.0 : INVALID;
        if constexpr (ALL) {
            out[1][i] = good ? g.delta : NOT_A_NUMBER;
            out[2][i] = good ? g.gamma : NOT_A_NUMBER;
            out[3][i] = good ? g.vega : NOT_A_NUMBER;
            out[4][i] = good ? g.theta : NOT_A_NUMBER;
            out[5][i] = good ? g.rho : NOT_A_NUMBER;
        }
    }
}

}  // namespace

// n options, contiguous inputs (one value where the input's bit is set in `scalars`). `out` has a row of n for
// each bit set in `wanted`, in order: price, delta, gamma, vega, theta, rho. Units: a year, 1.00 of volatility
// and of rate.
extern "C" void evaluate(const double *sign, const double *spot, const double *strike, const double *years,
                         const double *rate, const double *dividend, const double *sigma, double *out,
                         std::int64_t *faults, std::int64_t n, std::int64_t scalars, std::int64_t wanted,
                         std::int64_t model) {
    const double *const from[INPUTS] = {sign, spot, strike, years, rate, dividend, sigma};
    clear(faults);
    over_tiles(from, n, scalars, [&](const Tile &tile, std::int64_t first, int count, int width) {
        alignas(64) double made[RESULTS][TILE], fault[TILE];
        if (wanted == PRICE_ONLY) work<false>(tile, width, model == BLACK, made, fault);
        else work<true>(tile, width, model == BLACK, made, fault);
        double *to = out + first;
        for (int k = 0; k < RESULTS; ++k) {
            if (!(wanted >> k & 1)) continue;
            std::memcpy(to, made[k], sizeof(double) * std::size_t(count));
            to += n;
        }
        enter(faults, fault, first, count);
    });
}
