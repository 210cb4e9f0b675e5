// Every second, third or fourth of equal small blocks that lie side by side: loops that the compiler turns into
// vector shuffles, ten times as fast as single loads. It reads between the blocks, and not beyond the last.
#pragma once
#include "block.h"

template <int SIZE> struct Unit;
template <> struct Unit<1> { typedef std::uint8_t type; };
template <> struct Unit<2> { typedef std::uint16_t type __attribute__((aligned(1), may_alias)); };
template <> struct Unit<4> { typedef std::uint32_t type __attribute__((aligned(1), may_alias)); };

template <int SIZE, int TIMES> INLINE void thin(char *__restrict packed, const char *__restrict memory, Int count) {
    using Type = typename Unit<SIZE>::type;
    auto *const to = reinterpret_cast<Type *>(packed);
    const auto *const from = reinterpret_cast<const Type *>(memory);
    for (Int i = 0; i < count; ++i) to[i] = from[TIMES * i];
}

// Whether `pace` is such a distance; packs then.
template <int SIZE> INLINE bool thinned(char *__restrict packed, const char *__restrict memory, Int count, Int pace) {
    if (pace == 2 * SIZE) thin<SIZE, 2>(packed, memory, count);
    else if (pace == 3 * SIZE) thin<SIZE, 3>(packed, memory, count);
    else if (pace == 4 * SIZE) thin<SIZE, 4>(packed, memory, count);
    else return false;
    return true;
}
