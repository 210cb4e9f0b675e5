// Lanes: vectors of the machine's width, partial loads and stores, sweeps and reductions.
//
// A kernel's inner loop is a lambda that takes where it is and how many lanes count: `Full` in the
// body of a sweep, `Part` at its ends, `One` where the element type has no vectors. Everything here
// has the same names for all three, so that one text serves them.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <immintrin.h>
#include <omp.h>

namespace kw {

#ifdef __AVX512F__
constexpr int lanes = 16;
#else
constexpr int lanes = 8;
#endif
typedef float vf __attribute__((vector_size(lanes * 4)));
typedef int32_t vi __attribute__((vector_size(lanes * 4)));
typedef uint32_t vu __attribute__((vector_size(lanes * 4)));
typedef uint16_t vh __attribute__((vector_size(lanes * 2)));
typedef uint8_t vb __attribute__((vector_size(lanes)));

struct Full {};
struct Part {
  int count;
};
struct One {};

template <int U>
using At = std::integral_constant<int, U>;

inline vf splat(float x) { return x - vf{}; }
inline vi splat(bool x) { return vi{} - int32_t(x); }

inline vi first(int count) {
  vi at;
  for (int i = 0; i < lanes; ++i) at[i] = i;
  return at < count;
}

// ---- loads and stores; half types travel as their bits

template <class V, class T>
inline V bits_at(const T *p, Full) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
inline V bits_at(const T *p, Part part) {
  V v{};
  std::memcpy(&v, p, part.count * sizeof(T));
  return v;
}
template <class V, class T>
inline void put_bits(T *p, V v, Full) { std::memcpy(p, &v, sizeof v); }
template <class V, class T>
inline void put_bits(T *p, V v, Part part) { std::memcpy(p, &v, part.count * sizeof(T)); }

inline float bf16_value(uint16_t bits) { return __builtin_bit_cast(float, uint32_t(bits) << 16); }
inline vf bf16_value(vh bits) { return (vf)(__builtin_convertvector(bits, vu) << 16); }
inline uint16_t bf16_bits(float x) {
  const uint32_t u = __builtin_bit_cast(uint32_t, x);
  return x != x ? 0x7fc0 : uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
inline vh bf16_bits(vf x) {
  const vu u = (vu)x;
  const vu rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  return __builtin_convertvector(x != x ? vu{} + 0x7fc0 : rounded, vh);
}
inline float f16_value(uint16_t bits) { return float(__builtin_bit_cast(_Float16, bits)); }
inline uint16_t f16_bits(float x) { return __builtin_bit_cast(uint16_t, _Float16(x)); }
inline vf f16_value(vh bits) {
#ifdef __AVX512F__
  return (vf)_mm512_cvtph_ps((__m256i)bits);
#elif defined(__F16C__)
  return (vf)_mm256_cvtph_ps((__m128i)bits);
#else
  vf v;
  for (int i = 0; i < lanes; ++i) v[i] = f16_value(uint16_t(bits[i]));
  return v;
#endif
}
inline vh f16_bits(vf x) {
#ifdef __AVX512F__
  return (vh)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__F16C__)
  return (vh)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
#else
  vh v;
  for (int i = 0; i < lanes; ++i) v[i] = f16_bits(float(x[i]));
  return v;
#endif
}

inline vf load(const float *p, Full) { return bits_at<vf>(p, Full{}); }
inline void store(float *p, vf v, Full) { put_bits(p, v, Full{}); }
#ifdef __AVX512F__
inline __mmask16 mask_of(Part part) { return __mmask16((1u << part.count) - 1); }
inline vf load(const float *p, Part part) { return (vf)_mm512_maskz_loadu_ps(mask_of(part), p); }
inline void store(float *p, vf v, Part part) { _mm512_mask_storeu_ps(p, mask_of(part), (__m512)v); }
#elif defined(__AVX2__)
inline __m256i mask_of(Part part) { return (__m256i)first(part.count); }
inline vf load(const float *p, Part part) { return (vf)_mm256_maskload_ps(p, mask_of(part)); }
inline void store(float *p, vf v, Part part) { _mm256_maskstore_ps(p, mask_of(part), (__m256)v); }
#else
inline vf load(const float *p, Part part) { return bits_at<vf>(p, part); }
inline void store(float *p, vf v, Part part) { put_bits(p, v, part); }
#endif
template <class L>
inline vf load_bf16(const uint16_t *p, L l) { return bf16_value(bits_at<vh>(p, l)); }
template <class L>
inline vf load_f16(const uint16_t *p, L l) { return f16_value(bits_at<vh>(p, l)); }
template <class L>
inline void store_bf16(uint16_t *p, vf v, L l) { put_bits(p, bf16_bits(v), l); }
template <class L>
inline void store_f16(uint16_t *p, vf v, L l) { put_bits(p, f16_bits(v), l); }
template <class L>
inline vi load_bool(const bool *p, L l) { return __builtin_convertvector(bits_at<vb>(p, l), vi) != 0; }
template <class L>
inline void store_bool(bool *p, vi v, L l) { put_bits(p, __builtin_convertvector(v & 1, vb), l); }

template <class T>
inline T load(const T *p, One) { return *p; }
template <class T>
inline void store(T *p, T v, One) { *p = v; }
inline float load_bf16(const uint16_t *p, One) { return bf16_value(*p); }
inline float load_f16(const uint16_t *p, One) { return f16_value(*p); }
inline void store_bf16(uint16_t *p, float v, One) { *p = bf16_bits(v); }
inline void store_f16(uint16_t *p, float v, One) { *p = f16_bits(v); }
inline bool load_bool(const bool *p, One) { return *p; }
inline void store_bool(bool *p, bool v, One) { *p = v; }

// Elements `stride` apart.
inline vf gather(const float *p, int64_t stride, Full) {
  vf v;
  for (int i = 0; i < lanes; ++i) v[i] = p[i * stride];
  return v;
}
inline vf gather(const float *p, int64_t stride, Part part) {
  vf v{};
  for (int i = 0; i < part.count; ++i) v[i] = p[i * stride];
  return v;
}
template <class T>
inline T gather(const T *p, int64_t, One) { return *p; }
template <class L>
inline void scatter(float *p, int64_t stride, vf v, L l) {
  const int count = [&] {
    if constexpr (std::is_same_v<L, Full>) return lanes;
    else return l.count;
  }();
  for (int i = 0; i < count; ++i) p[i * stride] = v[i];
}
template <class T>
inline void scatter(T *p, int64_t, T v, One) { *p = v; }

// Stores that go around the caches: the line is not read first. They need an aligned address.
inline void stream(float *p, vf v, Full) {
#ifdef __AVX512F__
  _mm512_stream_ps(p, (__m512)v);
#elif defined(__AVX__)
  _mm256_stream_ps(p, (__m256)v);
#else
  store(p, v, Full{});
#endif
}
inline void stream(uint16_t *p, vh v, Full) {
#ifdef __AVX512F__
  _mm256_stream_si256((__m256i *)p, (__m256i)v);
#elif defined(__AVX__)
  _mm_stream_si128((__m128i *)p, (__m128i)v);
#else
  put_bits(p, v, Full{});
#endif
}
inline void stream_bf16(uint16_t *p, vf v, Full) { stream(p, bf16_bits(v), Full{}); }
inline void stream_f16(uint16_t *p, vf v, Full) { stream(p, f16_bits(v), Full{}); }
template <class V, class T, class L>
inline void stream(T *p, V v, L l) { store(p, v, l); }
template <class V, class L>
inline void stream_bf16(uint16_t *p, V v, L l) { store_bf16(p, v, l); }
template <class V, class L>
inline void stream_f16(uint16_t *p, V v, L l) { store_f16(p, v, l); }
template <class T>
inline bool aligned(const T *p) { return reinterpret_cast<intptr_t>(p) % (lanes * sizeof(T)) == 0; }

// Ask for the line at `p`, which need not exist.
template <class T>
inline void prefetch(const T *p) { __builtin_prefetch(p, 0, 2); }

// ---- conversions

template <class T>
inline auto to(vf x) {
  if constexpr (std::is_same_v<T, bool>) return x != 0.0f;
  else return x;
}
template <class T>
inline auto to(vi x) {
  if constexpr (std::is_same_v<T, bool>) return x;
  else return x ? splat(1.0f) : vf{};
}
template <class T, class S>
  requires std::is_arithmetic_v<S>
inline T to(S x) {
  if constexpr (std::is_same_v<T, bool>) return x != 0;
  else return static_cast<T>(x);
}

inline vi logical_not(vi a) { return ~a; }
inline bool logical_not(bool a) { return !a; }

// ---- sweeps

// Elements until `p` is aligned for `stream`, at most `count`.
template <class T>
inline int64_t head(const T *p, int64_t count) {
  const int64_t ahead = (-(reinterpret_cast<intptr_t>(p) / int64_t(sizeof(T)))) & (lanes - 1);
  return ahead < count ? ahead : count;
}

template <class F, int... U>
inline __attribute__((always_inline)) void each(F &&f, int64_t j, std::integer_sequence<int, U...>) {
  (f(Full{}, j + U * lanes, At<U>{}), ...);
}

// Call `f(lanes, j, At<u>)` over [lo, hi): `ahead` elements first, then U vectors at a time. `flush`
// is called about every `every` elements and at the end: it is where partial sums are put away.
template <int U, class F, class G>
inline __attribute__((always_inline)) void sweep(int64_t lo, int64_t hi, int64_t ahead, F &&f, G &&flush) {
  constexpr int64_t every = 32 * lanes * U;
  int64_t j = lo;
  if (ahead) {
    f(Part{int(ahead)}, j, At<0>{});
    j += ahead;
  }
  while (hi - j >= U * lanes) {
    const int64_t left = (hi - j) / (U * lanes) * (U * lanes);
    const int64_t end = j + (left < every ? left : every);
    for (; j < end; j += U * lanes) each(f, j, std::make_integer_sequence<int, U>{});
    flush();
  }
  for (; hi - j >= lanes; j += lanes) f(Full{}, j, At<0>{});
  if (j < hi) f(Part{int(hi - j)}, j, At<0>{});
  flush();
}

template <int U, class F, class G>
inline __attribute__((always_inline)) void sweep_one(int64_t lo, int64_t hi, int64_t, F &&f, G &&flush) {
  for (int64_t j = lo; j < hi; ++j) {
    f(One{}, j, At<0>{});
    if (((j - lo) & 255) == 255) flush();
  }
  flush();
}

// ---- this thread's part of `count` items, in order and as even as whole items allow

struct Share {
  int64_t begin, end;
};
inline Share share(int64_t count) {
  const int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
  return {count * me / threads, count * (me + 1) / threads};
}

// ---- memory of one thread, aligned, freed at the end of the scope

template <class T>
struct Local {
  T *at;
  explicit Local(int64_t count)
      : at(static_cast<T *>(std::aligned_alloc(64, (count * int64_t(sizeof(T)) + 127) / 64 * 64))) {}
  ~Local() { std::free(at); }
  Local(const Local &) = delete;
  Local &operator=(const Local &) = delete;
};

}  // namespace kw
