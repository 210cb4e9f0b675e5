// Vectors of stored elements, half types by their bits, loads and stores with cache hints, and copies
// to shared memory in the background. Vectors are at most 16 bytes and lie at multiples of their size.
struct kw_half { unsigned short bits; };
struct kw_bf16 { unsigned short bits; };

template <> struct kw_conversion<float, kw_half> {
  static KW_DEVICE float of(kw_half x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits)); return y; }
};
template <> struct kw_conversion<float, kw_bf16> {
  static KW_DEVICE float of(kw_bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }
};
template <class From> struct kw_conversion<kw_half, From> {
  static KW_DEVICE kw_half of(From x) {
    kw_half y;
    if (sizeof(From) == 8) asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y.bits) : "d"(static_cast<double>(x)));
    else asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(static_cast<float>(x)));
    return y;
  }
};
template <class From> struct kw_conversion<kw_bf16, From> {
  static KW_DEVICE kw_bf16 of(From x) {
    kw_bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(static_cast<float>(x)));
    return y;
  }
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
KW_DEVICE uint4 kw_read_past_l1(const uint4* p) {
  uint4 w;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(w.x), "=r"(w.y), "=r"(w.z), "=r"(w.w) : "l"(p));
  return w;
}
KW_DEVICE uint2 kw_read_past_l1(const uint2* p) {
  uint2 w;
  asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(w.x), "=r"(w.y) : "l"(p));
  return w;
}
KW_DEVICE unsigned kw_read_past_l1(const unsigned* p) {
  unsigned w;
  asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(w) : "l"(p));
  return w;
}
template <class W> KW_DEVICE W kw_read_past_l1(const W* p) { return __ldg(p); }

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

// Global to shared memory without registers. A thread that waited sees its own copies, no others'.
template <class T, int V> KW_DEVICE void kw_copy_async(kw_vec<T, V>* to, const T* from) {
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if (sizeof(T) * V == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(from) : "memory");
  else if (sizeof(T) * V == 8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(at), "l"(from) : "memory");
  else if (sizeof(T) * V == 4)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(from) : "memory");
  else
    *to = kw_load<0, T, V>(from);
}
KW_DEVICE void kw_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending> KW_DEVICE void kw_copy_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(Pending) : "memory");
}
