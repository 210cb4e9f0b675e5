// Scalar operations with torch's meaning, for float, double and integers. No fast-math forms: every
// function is the accurate one of its library.

#define KW_FLOAT_1(name, single, twice)                      \
  KW_DEVICE float kw_##name(float x) { return single(x); }   \
  KW_DEVICE double kw_##name(double x) { return twice(x); }
#define KW_FLOAT_2(name, single, twice)                                        \
  KW_DEVICE float kw_##name(float x, float y) { return single(x, y); }         \
  KW_DEVICE double kw_##name(double x, double y) { return twice(x, y); }

KW_FLOAT_1(exp, expf, exp)
KW_FLOAT_1(exp2, exp2f, exp2)
KW_FLOAT_1(expm1, expm1f, expm1)
KW_FLOAT_1(log, logf, log)
KW_FLOAT_1(log1p, log1pf, log1p)
KW_FLOAT_1(log2, log2f, log2)
KW_FLOAT_1(sqrt, sqrtf, sqrt)
KW_FLOAT_1(sin, sinf, sin)
KW_FLOAT_1(cos, cosf, cos)
KW_FLOAT_1(tanh, tanhf, tanh)
KW_FLOAT_1(erf, erff, erf)
KW_FLOAT_1(floor, floorf, floor)
KW_FLOAT_1(ceil, ceilf, ceil)
KW_FLOAT_1(round, rintf, rint)
KW_FLOAT_1(trunc, truncf, trunc)
KW_FLOAT_2(atan2, atan2f, atan2)
KW_FLOAT_2(fmod, fmodf, fmod)
KW_FLOAT_2(pow, powf, pow)

template <class T> KW_DEVICE bool kw_isnan(T x) { return x != x; }
template <class T> KW_DEVICE T kw_neg(T x) { return -x; }
template <class T> KW_DEVICE T kw_abs(T x) { return x < T(0) ? T(-x) : x; }
KW_DEVICE float kw_abs(float x) { return fabsf(x); }
KW_DEVICE double kw_abs(double x) { return fabs(x); }
template <class T> KW_DEVICE T kw_rsqrt(T x) { return T(1) / kw_sqrt(x); }
template <class T> KW_DEVICE T kw_reciprocal(T x) { return T(1) / x; }
template <class T> KW_DEVICE T kw_sigmoid(T x) { return T(1) / (T(1) + kw_exp(-x)); }
template <class T> KW_DEVICE T kw_relu(T x) { return x < T(0) ? T(0) : x; }
template <class T> KW_DEVICE T kw_sign(T x) { return T(int(x > T(0)) - int(x < T(0))); }
template <class T> KW_DEVICE T kw_maximum(T x, T y) { return x > y || x != x ? x : y; }
template <class T> KW_DEVICE T kw_minimum(T x, T y) { return x < y || x != x ? x : y; }

// A divisor that serves a whole row: the product with its reciprocal, corrected by the remainder, is the
// rounded quotient but for a hair. Divisors near the ends of the range take the division itself.
KW_DEVICE float kw_fma(float x, float y, float z) { return fmaf(x, y, z); }
KW_DEVICE double kw_fma(double x, double y, double z) { return fma(x, y, z); }
template <class T> struct kw_divisor {
  T value, inverse;
  bool plain;
};
template <class T> KW_DEVICE kw_divisor<T> kw_divide_by(T y) {
  T size = kw_abs(y);
  return {y, T(1) / y, size >= T(1e-30) && size <= T(1e30)};
}
template <class T> KW_DEVICE T kw_divided(T x, const kw_divisor<T>& y) {
  if (!y.plain) return x / y.value;
  T q = x * y.inverse;
  T closer = kw_fma(kw_fma(-q, y.value, x), y.inverse, q);
  return closer != closer ? q : closer;
}

// Integers: C's own remainder; the remainder with the divisor's sign; powers by squaring (0 below 1).
template <class T> KW_DEVICE T kw_floor(T x) { return x; }
template <class T> KW_DEVICE T kw_ceil(T x) { return x; }
template <class T> KW_DEVICE T kw_round(T x) { return x; }
template <class T> KW_DEVICE T kw_trunc(T x) { return x; }
template <class T> KW_DEVICE T kw_fmod(T x, T y) { return T(x % y); }
template <class T> KW_DEVICE T kw_remainder(T x, T y) {
  T r = kw_fmod(x, y);
  return r != T(0) && (r < T(0)) != (y < T(0)) ? T(r + y) : r;
}
template <class T> KW_DEVICE T kw_pow(T x, T y) {
  if (y < T(0)) return x == T(1) ? T(1) : x == T(-1) ? (y % 2 ? T(-1) : T(1)) : T(0);
  T r = T(1);
  for (; y > T(0); y = T(y / 2), x = T(x * x))
    if (y % 2) r = T(r * x);
  return r;
}

// Conversion as torch's `.to`: small integers take a float's low bits by way of 64-bit integers.
template <class To, class From> struct kw_conversion {
  static KW_DEVICE To of(From x) { return static_cast<To>(x); }
};
#define KW_NARROW(to, from)                                                        \
  template <> struct kw_conversion<to, from> {                                     \
    static KW_DEVICE to of(from x) { return static_cast<to>(static_cast<long long>(x)); } \
  };
KW_NARROW(unsigned char, float)
KW_NARROW(unsigned char, double)
KW_NARROW(signed char, float)
KW_NARROW(signed char, double)
KW_NARROW(short, float)
KW_NARROW(short, double)
template <class To, class From> KW_DEVICE To kw_cast(From x) { return kw_conversion<To, From>::of(x); }
