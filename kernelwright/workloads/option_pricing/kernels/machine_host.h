// What the mathematics needs of the machine: here a CPU, whose compiler turns the loops around it into vector code.
// (`machine_cuda.h` is the same for a GPU. A kernel has one of the two, under the name `machine.h`.)
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#define INLINE static inline __attribute__((always_inline))
#define TABLE constexpr

using std::fabs;
using std::fma;
using std::sqrt;

constexpr double NOT_A_NUMBER = __builtin_nan(""), INFINITE = __builtin_huge_val();

INLINE double quotient(double a, double b) { return a / b; }
INLINE std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
INLINE double double_of(std::uint64_t bits) { return std::bit_cast<double>(bits); }
