struct r0_pass1 {
  kw_moments<float> f1;
  __device__ __forceinline__ void clear() { f1.clear(); }
  __device__ __forceinline__ void merge(const r0_pass1& other) { f1.merge(other.f1); }
};

extern "C" __global__ void __launch_bounds__(512) r0_fold1(const float* __restrict__ p0 /* x */, const float* __restrict__ p1 /* weight */, const float* __restrict__ p2 /* bias */, float* p3 /* running_mean */, float* p4 /* running_var */, float* __restrict__ p5 /* out */, r0_pass1* parts1) {
  const unsigned lane = threadIdx.x;
  const unsigned block = blockIdx.x;
  const unsigned row = block / 64;
  const unsigned rank = block % 64;
  const unsigned i0 = row;
  const unsigned begin = rank * 65536;
  const float n13 = kw_load<0, float, 1>(p1 + ((long long)i0)).v[0];
  const float n15 = kw_load<0, float, 1>(p2 + ((long long)i0)).v[0];
  r0_pass1 part1;
  part1.clear();
#pragma unroll 1
  for (int i = 0; i < 128; i += 4) {
    kw_vec<float, 4> x0[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const unsigned v = begin + (i + u) * 512 + lane;
      const unsigned c = v * 4;
      const unsigned i2 = c % 262144;
      const unsigned i1 = (c / 262144);
      x0[u] = kw_load<0, float, 4>(p0 + ((long long)i0 * 262144 + (long long)i1 * 16777216 + (long long)i2));
    }
    float tf1[16];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float n0 = x0[u].v[e];
        tf1[u * 4 + e] = n0;
      }
    }
    part1.f1.add<16>(tf1);
  }
  __shared__ r0_pass1 warps1[16];
  part1 = kw_merge_block<512>(part1, warps1);
  if (threadIdx.x == 0) parts1[block] = part1;
}

extern "C" __global__ void __launch_bounds__(512) r0(const float* __restrict__ p0 /* x */, const float* __restrict__ p1 /* weight */, const float* __restrict__ p2 /* bias */, float* p3 /* running_mean */, float* p4 /* running_var */, float* __restrict__ p5 /* out */, r0_pass1* parts1) {
  const unsigned lane = threadIdx.x;
  const unsigned block = gridDim.x - 1 - blockIdx.x;
  const unsigned row = block / 64;
  const unsigned rank = block % 64;
  const unsigned i0 = row;
  const unsigned begin = rank * 65536;
  const float n13 = kw_load<0, float, 1>(p1 + ((long long)i0)).v[0];
  const float n15 = kw_load<0, float, 1>(p2 + ((long long)i0)).v[0];
  __shared__ r0_pass1 warps1[16];
  const r0_pass1 part1 = kw_merge_parts<512>(parts1 + row * 64, 64, warps1);
  const float n1 = part1.f1.total();
  const float n6 = part1.f1.squares;
  const float n3 = (n1 / (float)16777216);
  const float n8 = (n6 / (float)16777216);
  const float n10 = (n8 + 1e-05f);
  const float n11 = kw_rsqrt(n10);
#pragma unroll 1
  for (int i = 128 - 4; i >= 0; i -= 4) {
    kw_vec<float, 4> x0[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const unsigned v = begin + (i + u) * 512 + lane;
      const unsigned c = v * 4;
      const unsigned i2 = c % 262144;
      const unsigned i1 = (c / 262144);
      x0[u] = kw_load<0, float, 4>(p0 + ((long long)i0 * 262144 + (long long)i1 * 16777216 + (long long)i2));
    }
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const unsigned v = begin + (i + u) * 512 + lane;
      const unsigned c = v * 4;
      const unsigned i2 = c % 262144;
      const unsigned i1 = (c / 262144);
      kw_vec<float, 4> y0;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float n0 = x0[u].v[e];
        const float n4 = (n0 - n3);
        const float n12 = (n4 * n11);
        const float n14 = (n12 * n13);
        const float n16 = (n14 + n15);
        y0.v[e] = n16;
      }
      kw_store<1, float, 4>(p5 + ((long long)i0 * 262144 + (long long)i1 * 16777216 + (long long)i2), y0);
    }
  }
  if (threadIdx.x == 0 && rank == 0) {
    const float n18 = (n8 * 1.0000000596046483f);
    const float n19 = kw_load<3, float, 1>(p3 + ((long long)i0)).v[0];
    const float n21 = (n19 * 0.9f);
    const float n23 = (n3 * 0.1f);
    const float n24 = (n21 + n23);
    const float n25 = kw_load<3, float, 1>(p4 + ((long long)i0)).v[0];
    const float n27 = (n25 * 0.9f);
    const float n29 = (n18 * 0.1f);
    const float n30 = (n27 + n29);
    p3[(long long)i0] = n24;
    p4[(long long)i0] = n30;
  }
}
