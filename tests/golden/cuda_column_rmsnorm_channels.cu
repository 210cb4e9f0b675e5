struct r0_pass1 {
  kw_long_sum<float> f3;
  __device__ __forceinline__ void clear() { f3.clear(); }
  __device__ __forceinline__ void merge(const r0_pass1& other) { f3.merge(other.f3); }
};

extern "C" __global__ void __launch_bounds__(256) r0(const float* __restrict__ p0 /* x */, float* __restrict__ p1 /* out */) {
  const unsigned tx = threadIdx.x % 64;
  const unsigned ty = threadIdx.x / 64;
  const unsigned wanted = (unsigned)(blockIdx.x % (gridDim.x / 1)) * 64 + tx;
  const bool live = wanted < (29360128 / 4);
  const unsigned k = (live ? wanted : (29360128 / 4) - 1) * 4;
  const unsigned i1 = k % 262144;
  const unsigned i0 = (k / 262144);
  __shared__ __align__(16) unsigned char tile[8192];
  extern __shared__ __align__(16) unsigned char r0_shared[];
  kw_vec<float, 4>* const h0 = reinterpret_cast<kw_vec<float, 4>*>(r0_shared + 0) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < 16; i += 4) {
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const unsigned r = (i + u) * 4 + ty;
      const unsigned i2 = r;
      kw_copy_async<float, 4>(h0 + (i + u) * 256, p0 + ((long long)i0 * 16777216 + (long long)i1 + (long long)i2 * 262144));
    }
    kw_copy_commit();
  }
  r0_pass1 part1[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) part1[e].clear();
#pragma unroll 1
  for (int i = 0; i < 16; i += 4) {
    kw_copy_wait_for<0, 3>(3 - i / 4);
    float tf3[16];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float n0 = h0[(i + u) * 256].v[e];
        const float n2 = (n0 * n0);
        tf3[e * 4 + u] = n2;
      }
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) part1[e].f3.add<4>(tf3 + e * 4);
  }
  r0_pass1* const slots1 = reinterpret_cast<r0_pass1*>(tile);
#pragma unroll
  for (int e = 0; e < 4; ++e) slots1[(ty * 4 + e) * 64 + tx] = part1[e];
  __syncthreads();
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    part1[e].clear();
    for (int t = 0; t < 4; ++t) part1[e].merge(slots1[(t * 4 + e) * 64 + tx]);
  }
  float n3[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) n3[e] = part1[e].f3.total();
  float n5[4];
  float n7[4];
  float n8[4];
  {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      n5[e] = (n3[e] / (float)64);
      n7[e] = (n5[e] + 1e-05f);
      n8[e] = kw_sqrt(n7[e]);
    }
  }
#pragma unroll 1
  for (int i = 16 - 4; i >= 0; i -= 4) {
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const unsigned r = (i + u) * 4 + ty;
      const unsigned i2 = r;
      kw_vec<float, 4> y0;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float n0 = h0[(i + u) * 256].v[e];
        const float n9 = (n0 / n8[e]);
        y0.v[e] = n9;
      }
      if (live) kw_store<0, float, 4>(p1 + ((long long)i0 * 16777216 + (long long)i1 + (long long)i2 * 262144), y0);
    }
  }
}
