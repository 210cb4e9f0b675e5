// Copies of one block, by its size. A copy may write a byte of its own block twice, and no other byte.
#pragma once
#include <cstdint>
#include <cstring>

#define INLINE inline __attribute__((always_inline))

using Int = std::int64_t;

// A size that the compiler knows.
template <int BYTES> struct Fixed {
    static constexpr int SIZE = BYTES;
    static INLINE void copy(char *__restrict to, const char *__restrict from, Int) { std::memcpy(to, from, SIZE); }
    static INLINE Int width(Int) { return SIZE; }
};

// From HALF to 2 HALF bytes: the first HALF, and the last HALF.
template <int HALF> struct Pair {
    static constexpr int SIZE = 0;  // known only at the call
    static INLINE void copy(char *__restrict to, const char *__restrict from, Int size) {
        std::memcpy(to, from, HALF);
        std::memcpy(to + size - HALF, from + size - HALF, HALF);
    }
    static INLINE Int width(Int size) { return size; }
};

// From 64 bytes: pieces of 64, and the last 64.
struct Pieces {
    static constexpr int SIZE = 0;
    static INLINE void copy(char *__restrict to, const char *__restrict from, Int size) {
        Int done = 0;
        for (; done + 64 < size; done += 64) std::memcpy(to + done, from + done, 64);
        std::memcpy(to + size - 64, from + size - 64, 64);
    }
    static INLINE Int width(Int size) { return size; }
};

// Many pages: the library's own.
struct Long {
    static constexpr int SIZE = 0;
    static INLINE void copy(char *__restrict to, const char *__restrict from, Int size) {
        std::memcpy(to, from, static_cast<std::size_t>(size));
    }
    static INLINE Int width(Int size) { return size; }
};

constexpr Int LONG = 4096;

// A size that differs from block to block.
struct Any {
    static constexpr int SIZE = 0;
    static INLINE void copy(char *__restrict to, const char *__restrict from, Int size) {
        if (size >= LONG) Long::copy(to, from, size);
        else if (size >= 64) Pieces::copy(to, from, size);
        else if (size >= 32) Pair<32>::copy(to, from, size);
        else if (size >= 16) Pair<16>::copy(to, from, size);
        else if (size >= 8) Pair<8>::copy(to, from, size);
        else if (size >= 4) Pair<4>::copy(to, from, size);
        else if (size >= 2) Pair<2>::copy(to, from, size);
        else if (size == 1) *to = *from;
    }
    static INLINE Int width(Int size) { return size; }
};
