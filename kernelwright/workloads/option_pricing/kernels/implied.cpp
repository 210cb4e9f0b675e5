// Implied volatilities of European options. Written by hand; the mathematics is in solve.h.
#include "solve.h"
#include "faults.h"
#include "tiles.h"

namespace {

struct Search {
    alignas(64) double distance[TILE];
    alignas(64) double lost[TILE];      // what the distance was rounded by
    alignas(64) double side[TILE];
    alignas(64) double target[TILE];
    alignas(64) double target_lost[TILE];
    alignas(64) double logarithm[TILE];
    alignas(64) double s[TILE];
    alignas(64) double fault[TILE];
    alignas(64) double open[TILE];      // 1 until the residual was small
    alignas(64) double zero[TILE];
    alignas(64) double lift[TILE];
    alignas(64) double unit[TILE];
};

INLINE void prepare(const Tile &tile, int width, bool black, Search &at) {
    const double *const signs = tile.row[0], *const spots = tile.row[1], *const strikes = tile.row[2];
    const double *const spans = tile.row[3], *const rates = tile.row[4], *const yields = tile.row[5];
    const double *const prices = tile.row[6];
#pragma omp simd
    for (int i = 0; i < width; ++i) {
        const Sought found = sought(signs[i], spots[i], strikes[i], spans[i], rates[i], yields[i], prices[i], black);
        at.distance[i] = found.distance.value;
        at.lost[i] = found.distance.lost;
        at.side[i] = found.side;
        at.target[i] = found.target.value;
        at.target_lost[i] = found.target.lost;
        at.logarithm[i] = found.logarithm;
        at.s[i] = guess(found);
        at.fault[i] = found.fault;
        at.zero[i] = found.zero;
        at.lift[i] = found.lift;
        at.unit[i] = found.unit;
        at.open[i] = 1.0;
    }
}

// One step of each option that is open still: what an option goes through does not depend on its neighbours.
INLINE double steps(Search &at, int width) {
    double worst = 0.0;
#pragma omp simd reduction(max : worst)
    for (int i = 0; i < width; ++i) {
        const Step next = step(at.distance[i], at.side[i], at.logarithm[i], at.s[i]);
        const double open = at.open[i], left = open * fabs(next.residual);
        at.s[i] = clamp(at.s[i] * (1.0 + open * next.share), at.distance[i], at.side[i]);
        at.open[i] = left < CLOSE ? 0.0 : open;
        worst = left > worst ? left : worst;
    }
    return worst;
}

INLINE void last_steps(Search &at, const double *years, int width) {
#pragma omp simd
    for (int i = 0; i < width; ++i) {
        const double s = at.s[i];
        const double more = last_step({at.distance[i], at.lost[i]}, at.side[i], {at.target[i], at.target_lost[i]},
                                      at.lift[i], s);
        const double found = at.unit[i] * volatility_of(s, more, years[i]), sigma = at.zero[i] > 0.0 ? 0.0 : found;
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
