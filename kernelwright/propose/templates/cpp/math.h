// Math on lanes and on single elements, with torch's meaning for NaN, infinities and signed zeros.
//
// exp, erf, tanh, sigmoid and log of float lanes are ours: errors are at most 2 units in the last
// place (tests/cpu/test_propose_math.py measures them). Polynomials are minimax fits made for these
// intervals. Other functions go lane by lane through the C library.
namespace kw {

template <class V>
constexpr bool is_lanes = std::is_same_v<V, vf> || std::is_same_v<V, vi>;

inline vf fma(vf a, vf b, vf c) {
#ifdef __AVX512F__
  return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}
inline vf fma(vf a, vf b, float c) { return fma(a, b, splat(c)); }
inline vf fma(vf a, float b, float c) { return fma(a, splat(b), splat(c)); }
inline vf fma(vf a, float b, vf c) { return fma(a, splat(b), c); }

template <class C, class V>
inline V where(C c, V a, V b) { return c ? a : b; }

// The larger, or NaN if either is NaN.
template <class V>
inline V maximum(V a, V b) { return ((a > b) | (a != a)) ? a : b; }
template <class V>
inline V minimum(V a, V b) { return ((a < b) | (a != a)) ? a : b; }
inline bool maximum(bool a, bool b) { return a | b; }
inline bool minimum(bool a, bool b) { return a & b; }
template <class V>
inline V relu(V a) { return a < V{} ? V{} : a; }

inline vf abs(vf a) { return (vf)((vi)a & 0x7fffffff); }
inline vf with_sign_of(vf magnitude, vf sign) { return (vf)((vi)magnitude | ((vi)sign & int32_t(0x80000000))); }
template <class T>
inline T abs(T a) {
  if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
  else return a < 0 ? T(-a) : a;
}

// `a`, but at most (at least) `limit`; NaN stays NaN.
inline vf below(vf a, float limit) {
#ifdef __AVX512F__
  return (vf)_mm512_min_ps((__m512)splat(limit), (__m512)a);
#elif defined(__AVX__)
  return (vf)_mm256_min_ps((__m256)splat(limit), (__m256)a);
#else
  return a > limit ? splat(limit) : a;
#endif
}
inline vf above(vf a, float limit) {
#ifdef __AVX512F__
  return (vf)_mm512_max_ps((__m512)splat(limit), (__m512)a);
#elif defined(__AVX__)
  return (vf)_mm256_max_ps((__m256)splat(limit), (__m256)a);
#else
  return a < limit ? splat(limit) : a;
#endif
}

template <class F>
inline vf lanewise(F &&f, vf a) {
  for (int i = 0; i < lanes; ++i) a[i] = f(a[i]);
  return a;
}
template <class F>
inline vf lanewise(F &&f, vf a, vf b) {
  for (int i = 0; i < lanes; ++i) a[i] = f(a[i], b[i]);
  return a;
}

#define KW_UNARY(name, call)                                                                \
  inline vf name(vf a) { return lanewise([](float x) { return call(x); }, a); }             \
  inline float name(float x) { return call(x); }                                            \
  inline double name(double x) { return call(x); }
#define KW_BINARY(name, call)                                                               \
  inline vf name(vf a, vf b) { return lanewise([](float x, float y) { return call(x, y); }, a, b); } \
  inline float name(float x, float y) { return call(x, y); }                                \
  inline double name(double x, double y) { return call(x, y); }
KW_UNARY(exp2, std::exp2)
KW_UNARY(expm1, std::expm1)
KW_UNARY(log1p, std::log1p)
KW_UNARY(log2, std::log2)
KW_UNARY(sin, std::sin)
KW_UNARY(cos, std::cos)
KW_BINARY(pow, std::pow)
KW_BINARY(fmod, std::fmod)
KW_BINARY(atan2, std::atan2)
#undef KW_UNARY
#undef KW_BINARY

#define KW_ROUND(name, call, mode)                                                          \
  inline float name(float x) { return call(x); }                                            \
  inline double name(double x) { return call(x); }                                          \
  inline vf name(vf a) { return KW_LANES_ROUND(a, call, mode); }
#ifdef __AVX512F__
#define KW_LANES_ROUND(a, call, mode) (vf)_mm512_roundscale_ps((__m512)a, (mode) | 8)
#elif defined(__AVX__)
#define KW_LANES_ROUND(a, call, mode) (vf)_mm256_round_ps((__m256)a, (mode) | 8)
#else
#define KW_LANES_ROUND(a, call, mode) lanewise([](float x) { return call(x); }, a)
#endif
KW_ROUND(round, std::nearbyint, 0)
KW_ROUND(floor, std::floor, 1)
KW_ROUND(ceil, std::ceil, 2)
KW_ROUND(trunc, std::trunc, 3)
#undef KW_LANES_ROUND
#undef KW_ROUND

inline vf sqrt(vf a) {
#ifdef __AVX512F__
  return (vf)_mm512_sqrt_ps((__m512)a);
#elif defined(__AVX__)
  return (vf)_mm256_sqrt_ps((__m256)a);
#else
  return lanewise([](float x) { return std::sqrt(x); }, a);
#endif
}
inline float sqrt(float x) { return std::sqrt(x); }
inline double sqrt(double x) { return std::sqrt(x); }
template <class V>
inline V rsqrt(V a) { return 1 / sqrt(a); }

// 2^n * x for whole n, |n| <= 250, right through overflow and denormals: only the last step rounds.
inline vf scale(vf x, vf n) {
#ifdef __AVX512F__
  return (vf)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
  const vi whole = __builtin_convertvector(n, vi);
  const vi half = whole >> 1;
  const auto power = [](vi e) { return (vf)((e + 127) << 23); };
  return x * power(half) * power(whole - half);
#endif
}

// e^r - 1 for |r| <= ln(2)/2.
inline vf small_expm1(vf r) {
  vf q = fma(r, 0x1.6a2449001daebp-10f, 0x1.1239d3f4d7c09p-7f);
  q = fma(q, r, 0x1.5558f12645e0bp-5f);
  q = fma(q, r, 0x1.555491674b43cp-3f);
  q = fma(q, r, 0x1.fffffb9af8bfbp-2f);
  return fma(q, r * r, r);
}

inline vf exp(vf x) {
  const vf c = above(below(x, 150.0f), -150.0f);  // beyond these the result is inf or 0 in any case
  const vf n = round(c * 1.44269504088896f);
  vf r = fma(n, -0x1.62e4p-1f, c);
  r = fma(n, -0x1.7f7d1cf79abcap-20f, r);
  return scale(1.0f + small_expm1(r), n);
}
inline float exp(float x) { return std::exp(x); }
inline double exp(double x) { return std::exp(x); }

template <class V>
inline V sigmoid(V x) { return 1 / (1 + exp(-x)); }

inline vf tanh(vf x) {
  const vf a = abs(x), z = x * x;
  vf p = fma(z, -0.005743f, 0.02067148f);
  p = fma(p, z, -0.05374912f);
  p = fma(p, z, 0.13331548f);
  p = fma(p, z, -0.33333286f);
  const vf near = fma(p * z, x, x);
  const vf far = with_sign_of(1.0f - 2.0f / (exp(a + a) + 1.0f), x);
  return a < 0.62f ? near : far;
}
inline float tanh(float x) { return std::tanh(x); }
inline double tanh(double x) { return std::tanh(x); }

inline vf log(vf x) {
  const vi tiny = x < 0x1p-126f;
  const vf y = tiny ? x * 0x1p24f : x;
  const vi shifted = (vi)y - 0x3f3504f3;  // bits of sqrt(1/2)
  const vi exponent = shifted >> 23;
  const vf f = (vf)((vi)y - (exponent << 23)) - 1.0f;
  const vf e = __builtin_convertvector(exponent, vf) - (tiny ? splat(24.0f) : vf{});
  const vf z = f * f;
  vf p = fma(f, 0.06915368f, -0.11789808f);
  p = fma(p, f, 0.11872976f);
  p = fma(p, f, -0.12384348f);
  p = fma(p, f, 0.14218658f);
  p = fma(p, f, -0.16669251f);
  p = fma(p, f, 0.20002227f);
  p = fma(p, f, -0.24999987f);
  p = fma(p, f, 0.3333331f);
  vf r = fma(p * z, f, e * 0x1.7f7d1cf79abcap-20f);
  r = fma(z, -0.5f, r);
  r = fma(e, 0x1.62e4p-1f, f + r);
  r = x == std::numeric_limits<float>::infinity() ? x : r;
  r = x == 0.0f ? splat(-std::numeric_limits<float>::infinity()) : r;
  return ((x < 0.0f) | (x != x)) ? splat(std::numeric_limits<float>::quiet_NaN()) : r;
}
inline float log(float x) { return std::log(x); }
inline double log(double x) { return std::log(x); }

// Zero of NaN, as torch has it.
template <class V>
inline V sign(V a) { return (a > V{}) ? V{} + 1 : ((a < V{}) ? V{} - 1 : V{}); }
// A divisor of many: its reciprocal where that is a normal number, which costs half a unit in the last
// place and a tenth of the time; else division as it is.
struct Divisor {
  vf by, inverse;
  bool normal;
  explicit Divisor(float x)
      : by(splat(x)), inverse(splat(1 / x)), normal(std::fabs(x) > 0x1p-125f && std::fabs(x) < 0x1p125f) {}
  inline vf of(vf a) const { return normal ? a * inverse : a / by; }
};

// Division and remainders of whole numbers as torch has them: the remainder has the divisor's sign.
template <class T>
inline T remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T r = std::fmod(a, b);
    return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
  } else {
    if (b == 0) return 0;
    const T r = b == T(-1) ? T(0) : T(a % b);
    return r != 0 && ((r < 0) != (b < 0)) ? T(r + b) : r;
  }
}
inline vf remainder(vf a, vf b) {
  return lanewise([](float x, float y) { return remainder(x, y); }, a, b);
}

// ---- reductions: lanes apart, put together once

template <class V, class F>
inline auto lanes_fold(V v, F &&f) {
  if constexpr (is_lanes<V>) {
    float r = v[0];
    for (int i = 1; i < lanes; ++i) r = f(r, float(v[i]));
    return r;
  } else {
    return v;
  }
}

template <class V>
inline V only(V v, V, Full) { return v; }
template <class V>
inline V only(V v, V, One) { return v; }
template <class V>
inline V only(V v, V neutral, Part part) { return first(part.count) ? v : neutral; }

// Sum in two levels: U short chains, put away now and then into a long one that is double for floats.
template <class V>
struct Away {
  V sum{};
  inline void add(V v) { sum += v; }
  inline V total() const { return sum; }
};
template <>
struct Away<float> : Away<double> {};
template <>
struct Away<vf> {
  double sum[lanes]{};
  inline void add(vf v) {
    for (int i = 0; i < lanes; ++i) sum[i] += v[i];
  }
  inline double total() const {
    double all = 0;
    for (int i = 0; i < lanes; ++i) all += sum[i];
    return all;
  }
};

template <class V, int U>
struct Sum {
  V now[U]{};
  Away<V> away;
  template <int u, class L>
  inline void add(V v, L l, At<u>) { now[u] += only(v, V{}, l); }
  inline void flush() {
    for (int w = U / 2; w; w /= 2)
      for (int i = 0; i < w; ++i) now[i] += now[i + w];
    away.add(now[0]);
    for (int i = 0; i < U; ++i) now[i] = V{};
  }
  inline auto total() const { return away.total(); }
};

template <class V, int U, class Op>
struct Fold {
  V now[U];
  Fold() {
    for (int i = 0; i < U; ++i) now[i] = Op::template neutral<V>();
  }
  template <int u, class L>
  inline void add(V v, L l, At<u>) { now[u] = Op::of(now[u], only(v, Op::template neutral<V>(), l)); }
  inline void flush() {}
  inline auto total() const {
    V all = now[0];
    for (int i = 1; i < U; ++i) all = Op::of(all, now[i]);
    return lanes_fold(all, [](auto a, auto b) { return Op::of(a, b); });
  }
};

template <class V>
inline V lowest() {
  if constexpr (is_lanes<V>) return splat(-std::numeric_limits<float>::infinity());
  else if constexpr (std::is_floating_point_v<V>) return -std::numeric_limits<V>::infinity();
  else return std::numeric_limits<V>::lowest();
}
template <class V>
inline V highest() {
  if constexpr (is_lanes<V>) return splat(std::numeric_limits<float>::infinity());
  else if constexpr (std::is_floating_point_v<V>) return std::numeric_limits<V>::infinity();
  else return std::numeric_limits<V>::max();
}
struct SumOp {
  template <class V>
  static V neutral() { return V{}; }
  template <class V>
  static V of(V a, V b) { return a + b; }
};
struct MaxOp {
  template <class V>
  static V neutral() { return lowest<V>(); }
  template <class V>
  static V of(V a, V b) { return maximum(b, a); }
};
struct MinOp {
  template <class V>
  static V neutral() { return highest<V>(); }
  template <class V>
  static V of(V a, V b) { return minimum(b, a); }
};
struct ProdOp {
  template <class V>
  static V neutral() { return V{} + 1; }
  template <class V>
  static V of(V a, V b) { return a * b; }
};
// Accumulators in memory: begin, put the short chains of a block into the long ones, and end with the
// results in `now`. Long chains of sums are double.
template <class Op, class T, class W>
inline void begin(T *now, W *all, int64_t count) {
  for (int64_t j = 0; j < count; ++j) {
    now[j] = Op::template neutral<T>();
    all[j] = Op::template neutral<W>();
  }
}
template <class Op, class T, class W>
inline void put_away(T *now, W *all, int64_t count) {
  for (int64_t j = 0; j < count; ++j) {
    all[j] = Op::of(all[j], W(now[j]));
    now[j] = Op::template neutral<T>();
  }
}
template <class T, class W>
inline void end(T *now, const W *all, int64_t count) {
  for (int64_t j = 0; j < count; ++j) now[j] = T(all[j]);
}
template <class V, int U>
using Max = Fold<V, U, MaxOp>;
template <class V, int U>
using Min = Fold<V, U, MinOp>;
template <class V, int U>
using Prod = Fold<V, U, ProdOp>;

}  // namespace kw
