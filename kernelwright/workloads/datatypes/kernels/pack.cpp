// From memory into the packed buffer. Written by hand.
#include "move.h"

extern "C" void pack(std::uint8_t *memory, std::uint8_t *packed, const std::int64_t *table, std::int64_t count,
                     std::int64_t threads) {
    moved<true>(reinterpret_cast<char *>(memory), reinterpret_cast<char *>(packed), table, count, threads);
}
