// Packing and unpacking by a canonical form. Written by hand.
//
// The table of a form, in 64-bit integers:
//     levels, blocks, size of each block or 0, extent, bytes of all blocks together,
//     (count, stride) of each level, offset of each block, size of each block
// `count` elements lie `extent` apart: one more level, outside the others.
//
// The two innermost levels are loops around code for the size of a block; levels outside them count like the
// digits of an odometer. Threads share the outermost level.
#pragma once
#include "thin.h"

#include <algorithm>
#include <cstdlib>

#include <omp.h>

namespace {

struct Level {
    Int count, stride;
};

constexpr int HEAD = 5, MOST_LEVELS = 32;  // table.py has the same numbers
constexpr Int SHARED = 1 << 20;            // bytes from which threads share the work
constexpr Int FAR = 1024, LINE = 64;       // bytes: between blocks that are fetched alone; of a line of the cache

// `rows` times `columns` blocks, or lists of blocks.
struct Inner {
    Level rows, columns;
    Int size, blocks;  // of each block, or 0; in a list
    const Int *offsets, *sizes;
};

// A call's form: levels outside, and what each point of them is.
struct Form {
    Level levels[MOST_LEVELS];
    int depth;
    Int bytes;  // of all blocks of a list
    Inner inner;
};

template <bool PACK, class Mover> INLINE void copy(char *packed, char *memory, Int size) {
    if constexpr (PACK) Mover::copy(packed, memory, size);
    else Mover::copy(memory, packed, size);
}

// `count` blocks `pace` apart. Near ones four at a time, so that their addresses do not wait for each other; far
// ones one at a time, so that the processor sees one stride and fetches ahead.
template <bool PACK, class Mover>
INLINE void row(char *__restrict packed, char *__restrict memory, Int count, Int pace, Int size) {
    const Int width = Mover::width(size);
    Int block = 0;
    if constexpr (PACK && (Mover::SIZE == 1 || Mover::SIZE == 2 || Mover::SIZE == 4))
        if (thinned<Mover::SIZE>(packed, memory, count, pace)) return;
    if constexpr (Mover::SIZE > 0 && Mover::SIZE <= 64)
        for (const Int near = pace < FAR && pace > -FAR ? count - 3 : 0; block < near; block += 4) {
            copy<PACK, Mover>(packed, memory, size);
            copy<PACK, Mover>(packed + width, memory + pace, size);
            copy<PACK, Mover>(packed + 2 * width, memory + 2 * pace, size);
            copy<PACK, Mover>(packed + 3 * width, memory + 3 * pace, size);
            packed += 4 * width;
            memory += 4 * pace;
        }
#pragma GCC unroll 1
    for (; block < count; ++block, packed += width, memory += pace) copy<PACK, Mover>(packed, memory, size);
}

// Rows that are nearer than the blocks in them, as in a transpose: by squares, so that a line of the cache serves
// all rows that it holds before it is gone. Each block goes where it would have gone.
template <bool PACK, class Mover> void tiled(char *__restrict packed, char *__restrict memory, const Inner &inner) {
    constexpr Int SQUARE = 16;
    const Level rows = inner.rows, columns = inner.columns;
    const Int width = Mover::width(inner.size), bytes = width * columns.count;
    for (Int top = 0; top < rows.count; top += SQUARE)
        for (Int left = 0; left < columns.count; left += SQUARE) {
            const Int bottom = std::min(top + SQUARE, rows.count), right = std::min(left + SQUARE, columns.count);
            for (Int k = top; k < bottom; ++k)
                for (Int column = left; column < right; ++column)
                    copy<PACK, Mover>(packed + k * bytes + column * width,
                                      memory + k * rows.stride + column * columns.stride, inner.size);
        }
}

template <bool PACK, class Mover> void strided(char *__restrict packed, char *__restrict memory, const Inner &inner) {
    const Level rows = inner.rows, columns = inner.columns;
    if constexpr (Mover::SIZE > 0 && Mover::SIZE <= 32)
        if (std::abs(rows.stride) < LINE && std::abs(columns.stride) >= LINE && rows.count > 3 && columns.count > 15)
            return tiled<PACK, Mover>(packed, memory, inner);
    const Int bytes = Mover::width(inner.size) * columns.count;
    for (Int k = 0; k < rows.count; ++k)
        row<PACK, Mover>(packed + k * bytes, memory + k * rows.stride, columns.count, columns.stride, inner.size);
}

// The blocks of a list, once; returns where the next packed byte goes.
template <bool PACK, class Mover>
INLINE char *items(char *__restrict packed, char *__restrict memory, const Inner &inner) {
    const Int *const offsets = inner.offsets, *const sizes = inner.sizes;
    Int block = 0;
    if constexpr (constexpr Int SIZE = Mover::SIZE; SIZE > 0 && SIZE <= 64)
        for (; block + 4 <= inner.blocks; block += 4, packed += 4 * SIZE) {
            copy<PACK, Mover>(packed, memory + offsets[block], SIZE);
            copy<PACK, Mover>(packed + SIZE, memory + offsets[block + 1], SIZE);
            copy<PACK, Mover>(packed + 2 * SIZE, memory + offsets[block + 2], SIZE);
            copy<PACK, Mover>(packed + 3 * SIZE, memory + offsets[block + 3], SIZE);
        }
    for (; block < inner.blocks; ++block) {
        copy<PACK, Mover>(packed, memory + offsets[block], sizes[block]);
        packed += Mover::width(sizes[block]);
    }
    return packed;
}

template <bool PACK, class Mover> void listed(char *__restrict packed, char *__restrict memory, const Inner &inner) {
    for (Int row = 0; row < inner.rows.count; ++row)
        for (Int column = 0; column < inner.columns.count; ++column) {
            char *at = memory + row * inner.rows.stride + column * inner.columns.stride;
            packed = items<PACK, Mover>(packed, at, inner);
        }
}

using Move = void (*)(char *__restrict, char *__restrict, const Inner &);

template <bool PACK, class Mover> Move either(bool one) { return one ? strided<PACK, Mover> : listed<PACK, Mover>; }

// Code for blocks of `size` bytes; 0 where they differ.
template <bool PACK> Move chosen(Int size, bool one) {
    switch (size) {
    case 0: return either<PACK, Any>(one);
#define FIXED(n) case n: return either<PACK, Fixed<n>>(one);
    FIXED(1) FIXED(2) FIXED(3) FIXED(4) FIXED(5) FIXED(6) FIXED(7) FIXED(8) FIXED(9) FIXED(10) FIXED(11) FIXED(12)
    FIXED(13) FIXED(14) FIXED(15) FIXED(16) FIXED(20) FIXED(24) FIXED(32) FIXED(40) FIXED(48) FIXED(64) FIXED(96)
    FIXED(128) FIXED(256) FIXED(512)
#undef FIXED
    default: break;
    }
    if (size < 32) return either<PACK, Pair<16>>(one);
    if (size < 64) return either<PACK, Pair<32>>(one);
    return size < LONG ? either<PACK, Pieces>(one) : either<PACK, Long>(one);
}

// Levels of a call, that of its elements outermost; joined to the next where it goes on at that one's pace.
INLINE void add_levels(Form &form, const Int *table, Int count) {
    const int given = static_cast<int>(table[0]);
    const Int extent = table[3];
    std::memcpy(form.levels + 1, table + HEAD, static_cast<std::size_t>(given) * sizeof(Level));
    form.levels[0] = {count, extent};
    form.depth = given + 1;
    const bool joined = given && extent == form.levels[1].count * form.levels[1].stride;
    if (joined) form.levels[1].count *= count;
    if (count != 1 && !joined) return;
    std::memmove(form.levels, form.levels + 1, static_cast<std::size_t>(given) * sizeof(Level));
    form.depth = given;
}

INLINE void fill(Form &form, const Int *table, Int count) {
    add_levels(form, table, count);
    const Int blocks = table[1], *const offsets = table + HEAD + 2 * table[0];
    form.bytes = table[4];
    if (blocks == 1 && form.depth == 1 && form.levels[0].stride == form.bytes) {  // no gap at all
        form.bytes *= form.levels[0].count;
        form.depth = 0;
    }
    form.inner = {{1, 0}, {1, 0}, blocks == 1 ? form.bytes : table[2], blocks, offsets, offsets + blocks};
}

void walk(const Form &form, Move move, char *packed, char *memory) {
    Inner inner = form.inner;
    if (form.depth > 0) inner.columns = form.levels[form.depth - 1];
    if (form.depth > 1) inner.rows = form.levels[form.depth - 2];
    const Int bytes = form.bytes * inner.rows.count * inner.columns.count;
    const int outside = form.depth - 2;
    Int index[MOST_LEVELS];
    for (int level = 0; level < outside; ++level) index[level] = 0;
    for (int level = 0; level >= 0;) {
        move(packed, memory, inner);
        packed += bytes;
        for (level = outside - 1; level >= 0; --level) {
            memory += form.levels[level].stride;
            if (++index[level] < form.levels[level].count) break;
            memory -= index[level] * form.levels[level].stride;
            index[level] = 0;
        }
    }
}

template <bool PACK> void moved(char *memory, char *packed, const Int *table, Int count, Int threads) {
    if (count == 0 || table[4] == 0) return;
    Form form;
    fill(form, table, count);
    const bool one = table[1] == 1;
    if (one) memory += form.inner.offsets[0];
    const Move move = chosen<PACK>(form.inner.size, one);
    Int total = form.bytes;
    for (int level = 0; level < form.depth; ++level) total *= form.levels[level].count;
    if (threads < 2 || total < SHARED || form.depth == 0) return walk(form, move, packed, memory);
    const Level outer = form.levels[0];
#pragma omp parallel num_threads(static_cast<int>(threads < outer.count ? threads : outer.count))
    {
        const Int mine = omp_get_thread_num(), all = omp_get_num_threads();
        const Int first = outer.count * mine / all, last = outer.count * (mine + 1) / all;
        Form own = form;
        own.levels[0].count = last - first;
        walk(own, move, packed + total / outer.count * first, memory + outer.stride * first);
    }
}

}  // namespace
