// What the mathematics needs of the machine: here a GPU, one option to a thread. (See `machine_host.h`.)
#pragma once
#include <cstdint>

#define INLINE static __device__ __forceinline__
#define TABLE __constant__  // a number in the code would take two instructions
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000ll)

INLINE std::uint64_t bits_of(double x) { return static_cast<std::uint64_t>(__double_as_longlong(x)); }
INLINE double double_of(std::uint64_t bits) { return __longlong_as_double(static_cast<long long>(bits)); }
