// A kernel's shim, or MPI_Pack or MPI_Unpack, called so many times: nanoseconds of this thread's processor time in
// all, which does not count what other programs took of the processor meanwhile. Written by hand.
//
// Handles and addresses come in as integers. MPICH's handles are ints and Open MPI's pointers: passed in a
// register either way.
#include <cstdint>
#include <ctime>

namespace {

using Int = std::int64_t;
using Shim = void (*)(void *const *);
using Pack = int (*)(const void *, int, Int, void *, int, int *, Int);
using Unpack = int (*)(const void *, int, int *, void *, int, Int, Int);

Int now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * Int{1000000000} + time.tv_nsec;
}

template <class Function> Function as(Int address) { return reinterpret_cast<Function>(address); }

}  // namespace

// `way`: 0 the shim at `function` with its list `arguments`, 1 MPI_Pack, 2 MPI_Unpack there.
extern "C" void race(std::int64_t *ns, std::int64_t way, std::int64_t function, std::int64_t arguments,
                     std::int64_t memory, std::int64_t count, std::int64_t datatype, std::int64_t packed,
                     std::int64_t bytes, std::int64_t comm, std::int64_t calls) {
    const int elements = static_cast<int>(count), room = static_cast<int>(bytes);
    void *const there = as<void *>(memory), *const here = as<void *>(packed);
    const Int begun = now();
    for (Int call = 0; call < calls; ++call) {
        int position = 0;
        if (way == 0) as<Shim>(function)(as<void *const *>(arguments));
        else if (way == 1) as<Pack>(function)(there, elements, datatype, here, room, &position, comm);
        else as<Unpack>(function)(here, room, &position, there, elements, datatype, comm);
    }
    ns[0] = now() - begun;
}
