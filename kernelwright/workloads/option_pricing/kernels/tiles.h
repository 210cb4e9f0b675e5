// Tiles of options for loops over them on a CPU.
#pragma once
#include <algorithm>
#include <cstring>

#include "machine.h"

constexpr int TILE = 256;           // options worked on together; a tile's rows stay in the first-level cache
constexpr int INPUTS = 7;
constexpr std::int64_t PARALLEL_FROM = 8192;  // fewer options are done before other threads have woken

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
