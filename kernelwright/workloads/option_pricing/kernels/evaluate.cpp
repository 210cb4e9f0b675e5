// Price and Greeks of European options in one pass. Written by hand; the mathematics is in greeks.h.
#include "greeks.h"
#include "faults.h"
#include "tiles.h"

namespace {

#define STORE(NUMBER, name) out[NUMBER][i] = good ? values.name : NOT_A_NUMBER;

template <int LEVEL>
INLINE void work(const Tile &tile, int width, bool black, double (&out)[RESULTS][TILE], double *fault) {
    const double *const signs = tile.row[0], *const spots = tile.row[1], *const strikes = tile.row[2];
    const double *const spans = tile.row[3], *const rates = tile.row[4], *const yields = tile.row[5];
    const double *const sigmas = tile.row[6];
#pragma omp simd
    for (int i = 0; i < width; ++i) {
        const auto [values, found] =
            answer<LEVEL>(signs[i], spots[i], strikes[i], spans[i], rates[i], yields[i], sigmas[i], black);
        const bool good = found == 0.0;
        fault[i] = found;
        if constexpr (LEVEL == 0) { EACH_PRICE(STORE) }
        if constexpr (LEVEL == 1) { EACH_FIRST(STORE) }
        if constexpr (LEVEL == 2) { EACH_RESULT(STORE) }
    }
}

}  // namespace

// n options, contiguous inputs (one value where the input's bit is set in `scalars`). `out` has a row of n for
// each bit set in `wanted`, in the order of results.h. Units: a year, 1.00 of volatility and of rate.
extern "C" void evaluate(const double *sign, const double *spot, const double *strike, const double *years,
                         const double *rate, const double *dividend, const double *sigma, double *out,
                         std::int64_t *faults, std::int64_t n, std::int64_t scalars, std::int64_t wanted,
                         std::int64_t model) {
    const double *const from[INPUTS] = {sign, spot, strike, years, rate, dividend, sigma};
    clear(faults);
    over_tiles(from, n, scalars, [&](const Tile &tile, std::int64_t first, int count, int width) {
        alignas(64) double made[RESULTS][TILE], fault[TILE];
        if (wanted == 1 << PRICE) work<0>(tile, width, model == BLACK, made, fault);
        else if (wanted >> FIRST_ORDER == 0) work<1>(tile, width, model == BLACK, made, fault);
        else work<2>(tile, width, model == BLACK, made, fault);
        double *to = out + first;
        for (int k = 0; k < RESULTS; ++k) {
            if (!(wanted >> k & 1)) continue;
            std::memcpy(to, made[k], sizeof(double) * std::size_t(count));
            to += n;
        }
        enter(faults, fault, first, count);
    });
}
