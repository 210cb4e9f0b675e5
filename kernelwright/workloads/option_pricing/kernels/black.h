// What pricing and its inverse share: tiles of options, the two sides of an option, and the normalised Black function.
//
// With A and B the forward and the strike, both discounted, x = ln(A/B), s = sigma sqrt(t), a = |x| / s, h = s / 2,
// z1 = a - h and z2 = a + h, in units of min(A, B):
//     price of the option out of the money   n(z1) (R(z1) - R(z2))
//     what it falls short of min(A, B) by    n(z1) (R(-z1) + R(z2))
//     its derivative by s                    n(z1)
// Which side is the call's enters only as a sign: an option and its mirror image (put for call, A for B) are the same
// arithmetic, to the last bit. The first line is used where z1 is not too negative, the second elsewhere.
#pragma once
#include <algorithm>
#include <cstring>

#include "mills.h"

constexpr int TILE = 256;           // options worked on together; a tile's rows stay in the first-level cache
constexpr int INPUTS = 7;
constexpr std::int64_t PARALLEL_FROM = 8192;  // fewer options are done before other threads have woken
constexpr std::int64_t BLACK = 0;   // model: Black-76; anything else is Black-Scholes-Merton
constexpr double INVERSE_SQRT_2_PI = 0x1.9884533d43651p-2;
constexpr double MOST_X = 700.0;     // |ln(F/K)| beyond which exponentials overflow
constexpr double NEAR = -0.7;       // z1 from which the first line is used

struct Tile {
    alignas(64) double row[INPUTS][TILE];
};

// Rows whose bit is set in `scalars` hold one value for all options: filled once for each thread.
INLINE void fill_scalars(Tile &tile, const double *const (&from)[INPUTS], std::int64_t scalars, std::int64_t n) {
    const std::int64_t width = std::min<std::int64_t>(TILE, (n + 7) & ~std::int64_t(7));
    for (int k = 0; k < INPUTS; ++k)
        if (scalars >> k & 1) std::fill_n(tile.row[k], width, *from[k]);
}

// Options `first` to `first + count`; the row is filled up to a multiple of eight with its last option, so
// that each option goes through the same vector code wherever it stands. Returns the filled length.
INLINE int load(Tile &tile, const double *const (&from)[INPUTS], std::int64_t scalars, std::int64_t first, int count) {
    const int width = (count + 7) & ~7;
    for (int k = 0; k < INPUTS; ++k) {
        if (scalars >> k & 1) continue;
        std::memcpy(tile.row[k], from[k] + first, sizeof(double) * std::size_t(count));
        std::fill(tile.row[k] + count, tile.row[k] + width, tile.row[k][count - 1]);
    }
    return width;
}

// The two sides of the exchange that an option is, at today's value, and how far they are apart.
struct Sides {
    double asset;   // forward, discounted
    double cash;    // strike, discounted
    double factor;  // asset / underlying
    double x;       // ln(asset / cash), from the underlying, so that it loses nothing near the money
    double x_lost;  // what the last addition in x rounded away
    double excess;  // asset - cash, from x where they are close: their difference would be all rounding
};

// exp(-rate years), without the error that rounding the product would bring.
INLINE double discount_of(double rate, double years) {
    const double product = rate * years;
    return exp_sum(-product, -std::fma(rate, years, -product));
}

INLINE Sides sides_of(double underlying, double strike, double years, double rate, double dividend, bool black) {
    const double cost = black ? rate : dividend;
    const double factor = discount_of(cost, years), asset = underlying * factor;
    const double cash = strike * discount_of(rate, years);
    const double carried = (rate - cost) * years, turn = underlying < strike ? -1.0 : 1.0;
    const Sum moneyness = log_ratio(turn > 0.0 ? underlying : strike, turn > 0.0 ? strike : underlying);
    const Sum first = sum_of(turn * moneyness.value, carried);
    const Sum x = sum_of(first.value, first.lost + turn * moneyness.lost + std::fma(rate - cost, years, -carried));
    const double low = asset < cash ? asset : cash, distance = std::fabs(x.value);
    const double close = low * expm1_small(distance), excess = x.value < 0.0 ? -close : close;
    return {asset, cash, factor, x.value, x.lost, distance < EXPM1_MOST ? excess : asset - cash};
}

INLINE double positive(double value) { return truth(value > 0.0) * truth(value < INFINITE); }

struct Bell {
    double z;      // a - h, rounded
    double value;  // exp(-(a - h)^2 / 2), of the unrounded difference
};

// The bell curve at a - h for a = distance / s, without the error that rounding distance, s, a and a - h would bring
// into the exponent.
INLINE Bell bell_at(Sum distance, Sum s, double a, double h) {
    const Sum z = sum_of(a, -h);
    const double lost = z.lost + (std::fma(-a, s.value, distance.value) + distance.lost - (a + h) * s.lost) / s.value;
    const double square = z.value * z.value;
    const double low = -0.5 * std::fma(z.value, z.value, -square) - z.value * lost;
    return {z.value, exp_sum(-0.5 * square, low)};
}

// 1 for an option, 0 for anything else.
INLINE double is_option(double sign, double spot, double strike, double years, const Sides &made) {
    return truth(std::fabs(sign) == 1.0) * positive(spot) * positive(strike) * truth(years >= 0.0) *
           truth(years < INFINITE) * positive(made.asset) * positive(made.cash) *
           truth(std::fabs(made.x) < MOST_X);
}

// Runs `each(tile, first, count, width)` over all options, on all cores where there are many.
template <class Each>
INLINE void over_tiles(const double *const (&from)[INPUTS], std::int64_t n, std::int64_t scalars, const Each &each) {
    const auto run = [&](Tile &tile, std::int64_t first) __attribute__((always_inline)) {
        const int count = int(std::min<std::int64_t>(TILE, n - first));
        each(tile, first, count, load(tile, from, scalars, first, count));
    };
    if (n < PARALLEL_FROM) {
        Tile tile;
        fill_scalars(tile, from, scalars, n);
        for (std::int64_t first = 0; first < n; first += TILE) run(tile, first);
        return;
    }
#pragma omp parallel
    {
        Tile tile;
        fill_scalars(tile, from, scalars, n);
#pragma omp for schedule(static)
        for (std::int64_t first = 0; first < n; first += TILE) run(tile, first);
    }
}
