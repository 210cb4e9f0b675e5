struct r0_pass1 {
  kw_softsum<float> f1;
  __device__ __forceinline__ void clear() { f1.clear(); }
  __device__ __forceinline__ void merge(const r0_pass1& other) { f1.merge(other.f1); }
};
extern "C" __global__ void __launch_bounds__(512) r0(const float* __restrict__ p0 /* x */, float* __restrict__ p1 /* out */) {
  const unsigned lane = threadIdx.x % 512;
  const unsigned rank = blockIdx.x % 16;
  const unsigned begin = rank * 6144;
  kw_cluster_barrier();
  __shared__ r0_pass1 warps1[1][16];
  __shared__ r0_pass1 blocks1[1][16];
  extern __shared__ __align__(16) unsigned char r0_shared[];
  kw_vec<float, 4>* const h0 = reinterpret_cast<kw_vec<float, 4>*>(r0_shared + 0) + threadIdx.x;
  const unsigned first = (unsigned)(blockIdx.x / 16) * 1;
  const unsigned row = first;
  const unsigned i0 = row;
#pragma unroll
  for (int i = 0; i < 12; i += 2) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const unsigned v = begin + (i + u) * 512 + lane;
      const unsigned c = v * 4;
      kw_copy_async<float, 4>(h0 + (i + u) * 512, p0 + (c + (long long)i0 * 393216));
    }
    kw_copy_commit();
  }
  r0_pass1 part1;
  part1.clear();
#pragma unroll 1
  for (int i = 0; i < 12; i += 2) {
    kw_copy_wait_for<0, 5>(5 - i / 2);
    float tf1[8];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float n0 = h0[(i + u) * 512].v[e];
        tf1[u * 4 + e] = n0;
      }
    }
    part1.f1.add<8>(tf1);
  }
  part1 = kw_merge_block<512>(part1, warps1[0]);
  part1 = kw_merge_cluster<16>(part1, blocks1[0]);
  const float n1 = part1.f1.top;
  const float n4 = part1.f1.total();
  const kw_divisor<float> d4 = kw_divide_by(n4);
#pragma unroll 1
  for (int i = 0; i < 12; i += 2) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const unsigned v = begin + (i + u) * 512 + lane;
      const unsigned c = v * 4;
      kw_vec<float, 4> y0;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float n0 = h0[(i + u) * 512].v[e];
        const float n2 = (n0 - n1);
        const float n3 = kw_exp(n2);
        const float n5 = kw_divided(n3, d4);
        y0.v[e] = n5;
      }
      kw_store<0, float, 4>(p1 + (c + (long long)i0 * 393216), y0);
    }
  }
}
