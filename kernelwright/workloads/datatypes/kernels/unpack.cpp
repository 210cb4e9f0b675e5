// From the packed buffer into memory. Written by hand.
#include "move.h"

extern "C" void unpack(std::uint8_t *memory, std::uint8_t *packed, const std::int64_t *table, std::int64_t count,
                       std::int64_t threads) {
    moved<false>(reinterpret_cast<char *>(memory), reinterpret_cast<char *>(packed), table, count, threads);
}
