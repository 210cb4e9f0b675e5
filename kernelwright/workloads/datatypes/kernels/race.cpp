// A kernel's shim and MPI_Pack or MPI_Unpack, timed one after the other: so many calls of each, in nanoseconds
// altogether. Written by hand.
//
// Handles and addresses come in as integers. MPICH's handles are ints and Open MPI's pointers: passed in a
// register either way.
#include <chrono>
#include <cstdint>

namespace {

using Int = std::int64_t;
using Clock = std::chrono::steady_clock;
using Shim = void (*)(void *const *);
using Pack = int (*)(const void *, int, Int, void *, int, int *, Int);
using Unpack = int (*)(const void *, int, int *, void *, int, Int, Int);

Int since(Clock::time_point begun) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begun).count();
}

template <class Function> Function as(Int address) { return reinterpret_cast<Function>(address); }

}  // namespace

extern "C" void race(std::int64_t *ns, std::int64_t shim, std::int64_t arguments, std::int64_t unpacks,
                     std::int64_t function, std::int64_t memory, std::int64_t count, std::int64_t datatype,
                     std::int64_t packed, std::int64_t bytes, std::int64_t comm, std::int64_t calls) {
    const auto first = Clock::now();
    for (Int call = 0; call < calls; ++call) as<Shim>(shim)(as<void *const *>(arguments));
    ns[0] = since(first);
    const int elements = static_cast<int>(count), room = static_cast<int>(bytes);
    void *const there = as<void *>(memory), *const here = as<void *>(packed);
    const auto second = Clock::now();
    for (Int call = 0; call < calls; ++call) {
        int position = 0;
        if (unpacks) as<Unpack>(function)(here, room, &position, there, elements, datatype, comm);
        else as<Pack>(function)(there, elements, datatype, here, room, &position, comm);
    }
    ns[1] = since(second);
}
