struct r0_pass1 {
  kw_moments<float> f1;
  __device__ __forceinline__ void clear() { f1.clear(); }
  __device__ __forceinline__ void merge(const r0_pass1& other) { f1.merge(other.f1); }
};
extern "C" __global__ void __launch_bounds__(512, 2) r0(const float* __restrict__ p0 /* x */, const float* __restrict__ p1 /* weight */, const float* __restrict__ p2 /* bias */, float* __restrict__ p3 /* out */, unsigned long long* messages) {
  const unsigned lane = threadIdx.x % 512;
  const unsigned rank = blockIdx.x % 12;
  const unsigned begin = rank * 43712;
  const unsigned end = begin + 43712 < 524288 ? begin + 43712 : 524288;
  __shared__ r0_pass1 warps1[2][16];
  __shared__ r0_pass1 team1[1];
  const unsigned stride = (unsigned)(gridDim.x / 12) * 1;
  int turn = 0;
  unsigned number = 1;
  for (unsigned first = (unsigned)(blockIdx.x / 12) * 1; first < 896; first += stride, turn ^= 1, ++number) {
    const unsigned row = first;
    const unsigned i1 = row % 8;
    const unsigned i0 = (row / 8);
    r0_pass1 part1;
    part1.clear();
#pragma unroll 1
    for (int i = 0; i < 88; i += 4) {
      kw_vec<float, 4> x0[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        const unsigned v = begin + (i + u) * 512 + lane;
        const unsigned c = v * 4;
        x0[u] = v < end ? kw_load<0, float, 4>(p0 + (c + (long long)i0 * 16777216 + (long long)i1 * 2097152)) : kw_vec<float, 4>{};
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
      if (begin + (i + 3) * 512 + lane < end) {
        part1.f1.add<16>(tf1);
      } else {
#pragma unroll
        for (int u = 0; u < 4; ++u) {
          const unsigned v = begin + (i + u) * 512 + lane;
          if (v < end) {
            part1.f1.add<4>(tf1 + u * 4);
          }
        }
      }
    }
    part1 = kw_merge_block<512>(part1, warps1[turn]);
    part1 = kw_merge_grid<12>(part1, messages + (((blockIdx.x / 12) * 2 + turn) * 3 + 0) * 12, rank, number, team1);
    const float n1 = part1.f1.total();
    const float n6 = part1.f1.squares;
    const float n3 = (n1 / (float)2097152);
    const float n8 = (n6 / (float)2097152);
    const float n10 = (n8 + 1e-05f);
    const float n11 = kw_rsqrt(n10);
#pragma unroll 1
    for (int i = 88 - 4; i >= 0; i -= 4) {
      kw_vec<float, 4> x0[4];
      kw_vec<float, 1> x13[4];
      kw_vec<float, 1> x15[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        const unsigned v = begin + (i + u) * 512 + lane;
        const unsigned c = v * 4;
        const unsigned i2 = (c / 262144);
        x0[u] = v < end ? kw_load<0, float, 4>(p0 + (c + (long long)i0 * 16777216 + (long long)i1 * 2097152)) : kw_vec<float, 4>{};
        x13[u] = v < end ? kw_load<0, float, 1>(p1 + ((long long)i1 * 8 + (long long)i2)) : kw_vec<float, 1>{};
        x15[u] = v < end ? kw_load<0, float, 1>(p2 + ((long long)i1 * 8 + (long long)i2)) : kw_vec<float, 1>{};
      }
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        const unsigned v = begin + (i + u) * 512 + lane;
        const unsigned c = v * 4;
        kw_vec<float, 4> y0;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float n0 = x0[u].v[e];
          const float n4 = (n0 - n3);
          const float n12 = (n4 * n11);
          const float n13 = x13[u].v[0];
          const float n14 = (n12 * n13);
          const float n15 = x15[u].v[0];
          const float n16 = (n14 + n15);
          y0.v[e] = n16;
        }
        if (v < end) kw_store<0, float, 4>(p3 + (c + (long long)i0 * 16777216 + (long long)i1 * 2097152), y0);
      }
    }
  }
}
