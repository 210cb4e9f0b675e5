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
// Wait until at most `pending` groups of copies are under way; more than `High` count as that many.
template <int Low, int High> KW_DEVICE void kw_copy_wait_for(int pending) {
  if constexpr (Low == High) kw_copy_wait<Low>();
  else if (pending <= (Low + High) / 2) kw_copy_wait_for<Low, (Low + High) / 2>(pending);
  else kw_copy_wait_for<(Low + High) / 2 + 1, High>(pending);
}

// V neighbours that may stick out of a row: the first is element `at` of `length`. Those outside are zero
// when loaded, left alone when stored or copied.
template <class I, int V> KW_DEVICE bool kw_inside(I at, long long length) {
  return at >= 0 && at + V <= static_cast<I>(length);
}
template <int Hint, class T, int V, class I> KW_DEVICE kw_vec<T, V> kw_load_part(const T* p, I at, long long length) {
  if (kw_inside<I, V>(at, length)) return kw_load<Hint, T, V>(p);
  kw_vec<T, V> x{};
#pragma unroll
  for (int e = 0; e < V; ++e)
    if (kw_inside<I, 1>(at + e, length)) x.v[e] = kw_load<Hint, T, 1>(p + e).v[0];
  return x;
}
template <int Hint, class T, int V, class I> KW_DEVICE void kw_store_part(T* p, const kw_vec<T, V>& x, I at, long long length) {
  if (kw_inside<I, V>(at, length)) return kw_store<Hint, T, V>(p, x);
#pragma unroll
  for (int e = 0; e < V; ++e)
    if (kw_inside<I, 1>(at + e, length)) kw_store<Hint, T, 1>(p + e, kw_vec<T, 1>{{x.v[e]}});
}
template <class T, int V, class I> KW_DEVICE void kw_copy_part(kw_vec<T, V>* to, const T* from, I at, long long length) {
  if (kw_inside<I, V>(at, length)) return kw_copy_async<T, V>(to, from);
#pragma unroll
  for (int e = 0; e < V; ++e)
    if (kw_inside<I, 1>(at + e, length)) kw_copy_async<T, 1>(reinterpret_cast<kw_vec<T, 1>*>(to->v + e), from + e);
}
