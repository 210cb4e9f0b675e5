// Vectors of stored elements, half types by their bits, and loads and stores with cache hints. Vectors are at most 16 bytes and lie at multiples of their size.
struct kw_half { unsigned short bits; };
struct kw_bf16 { unsigned short bits; };

template <> struct kw_conversion<float, kw_half> {
  static KW_DEVICE float of(kw_half x) { return kw_half_value(x.bits); }
};
template <> struct kw_conversion<float, kw_bf16> {
  static KW_DEVICE float of(kw_bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }
};
template <class From> struct kw_conversion<kw_half, From> {
  static KW_DEVICE kw_half of(From x) { return kw_half{kw_half_bits(static_cast<float>(x))}; }
};
template <> struct kw_conversion<kw_half, double> {
  static KW_DEVICE kw_half of(double x) { return kw_half{kw_half_bits(x)}; }
};
template <class From> struct kw_conversion<kw_bf16, From> {
  static KW_DEVICE kw_bf16 of(From x) { return kw_bf16{kw_bf16_bits(static_cast<float>(x))}; }
};
template <> struct kw_conversion<double, kw_half> {
  static KW_DEVICE double of(kw_half x) { return kw_conversion<float, kw_half>::of(x); }
};
template <> struct kw_conversion<double, kw_bf16> {
  static KW_DEVICE double of(kw_bf16 x) { return kw_conversion<float, kw_bf16>::of(x); }
};

template <class T, int V> struct alignas(sizeof(T) * V) kw_vec { T v[V]; };

template <int Bytes> struct kw_word;
template <> struct kw_word<1> { typedef unsigned char type; };
template <> struct kw_word<2> { typedef unsigned short type; };
template <> struct kw_word<4> { typedef unsigned type; };
template <> struct kw_word<8> { typedef uint2 type; };
template <> struct kw_word<16> { typedef uint4 type; };

// Hints: 0 read-only cache, 1 read once (evict first), 2 not kept in L1, 3 coherent (the buffer is also written).
template <int Hint, class T, int V> KW_DEVICE kw_vec<T, V> kw_load(const T* p) {
  typedef typename kw_word<sizeof(T) * V>::type word;
  const word* q = reinterpret_cast<const word*>(p);
  word w = Hint == 0 ? __ldg(q) : Hint == 1 ? __ldcs(q) : Hint == 2 ? kw_read_past_l1(q) : *q;
  kw_vec<T, V> x;
  memcpy(&x, &w, sizeof(x));
  return x;
}
// Hints: 0 plain, 1 written once (evict first).
template <int Hint, class T, int V> KW_DEVICE void kw_store(T* p, const kw_vec<T, V>& x) {
  typedef typename kw_word<sizeof(T) * V>::type word;
  word w;
  memcpy(&w, &x, sizeof(x));
  if (Hint == 1) __stcs(reinterpret_cast<word*>(p), w);
  else *reinterpret_cast<word*>(p) = w;
}

template <class T, int V> KW_DEVICE void kw_copy_async(kw_vec<T, V>* to, const T* from) {
  if (sizeof(T) * V >= 4) kw_copy_bytes_async<sizeof(T) * V>(to, from);
  else *to = kw_load<0, T, V>(from);
}
