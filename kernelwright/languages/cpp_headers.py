"""Headers that a `cpp` kernel may include: the C++20 library, OpenMP, vector intrinsics."""

from __future__ import annotations

from kernelwright.languages.guard import Headers

_CXX = """
 algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts
condition_variable coroutine deque exception execution format forward_list fstream functional future
initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex
scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept stop_token
streambuf string string_view syncstream system_error thread tuple type_traits typeindex typeinfo
unordered_map unordered_set utility valarray variant vector version cassert cctype cerrno cfenv cfloat
cinttypes climits clocale cmath csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime
cuchar cwchar cwctype
"""
_C = """
assert.h ctype.h errno.h fenv.h float.h inttypes.h limits.h math.h stdarg.h stdbool.h stddef.h stdint.h
stdio.h stdlib.h string.h time.h
"""
_MACHINE = """
omp.h immintrin.h x86intrin.h xmmintrin.h emmintrin.h pmmintrin.h tmmintrin.h smmintrin.h nmmintrin.h
arm_neon.h arm_sve.h arm_bf16.h arm_fp16.h
"""

HEADERS = Headers(
    frozenset(f"{_CXX} {_C} {_MACHINE}".split()),
    "the C++ standard library, omp.h, immintrin.h, x86intrin.h, arm_neon.h, arm_sve.h",
)
