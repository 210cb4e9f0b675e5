// All that is written in PTX: conversions of half types, extremes, loads past L1, copies in the background, clusters,
// words between blocks.
// Every other text is plain C++ over CUDA's built-in functions.
#define KW_DEVICE __device__ __forceinline__

KW_DEVICE float kw_half_value(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
KW_DEVICE unsigned short kw_half_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
KW_DEVICE unsigned short kw_half_bits(double x) {
  unsigned short bits;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x));
  return bits;
}
KW_DEVICE unsigned short kw_bf16_bits(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

// One instruction where the comparison that integers use takes three.
KW_DEVICE float kw_maximum(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
KW_DEVICE float kw_minimum(float x, float y) {
  float z;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}

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

// 4, 8 or 16 bytes from global to shared memory without registers. A thread that waited sees its own
// copies, no others'.
template <int Bytes> KW_DEVICE void kw_copy_bytes_async(void* to, const void* from) {
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if (Bytes == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(from) : "memory");
  if (Bytes == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(at), "l"(from) : "memory");
  if (Bytes == 4) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(from) : "memory");
}
KW_DEVICE void kw_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending> KW_DEVICE void kw_copy_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(Pending) : "memory");
}

KW_DEVICE unsigned kw_cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
KW_DEVICE void kw_cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
// Write a word where `at` lies in the shared memory of block `rank` of the cluster.
KW_DEVICE void kw_cluster_write(unsigned* at, unsigned rank, unsigned word) {
  unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(at)), there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
  asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(word) : "memory");
}

// Words between blocks by way of global memory, 64 bits in one access each.
KW_DEVICE void kw_send(unsigned long long* to, unsigned long long word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(to), "l"(word) : "memory");
}
KW_DEVICE unsigned long long kw_receive(const unsigned long long* from) {
  unsigned long long word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
  return word;
}
