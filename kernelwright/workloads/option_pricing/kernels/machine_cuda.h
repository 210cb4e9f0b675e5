// What the mathematics needs of the machine: here a GPU, one option to a thread. (See `machine_host.h`.)
#pragma once
#include <cstdint>

#define INLINE static __device__ __forceinline__
#define TABLE __constant__  // a number in the code would take two instructions
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000ll)
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)

// 1 / x for normal x with a normal inverse, to within 1 ulp: the unit's 20 bits, and one step of third order. A
// division takes three times as many instructions, for a last bit and for cases that do not come up.
INLINE double inverse_of(double x) {
    double guess;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(guess) : "d"(x));
    const double off = fma(-x, guess, 1.0);
    return fma(fma(off, off, off), guess, guess);
}
INLINE double quotient(double a, double b) { return a * inverse_of(b); }

INLINE std::uint64_t bits_of(double x) { return static_cast<std::uint64_t>(__double_as_longlong(x)); }
INLINE double double_of(std::uint64_t bits) { return __longlong_as_double(static_cast<long long>(bits)); }
