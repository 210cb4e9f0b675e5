struct r0_pass1 {
  kw_long_sum<float> f1;
  __device__ __forceinline__ void clear() { f1.clear(); }
  __device__ __forceinline__ void merge(const r0_pass1& other) { f1.merge(other.f1); }
};

extern "C" __global__ void __launch_bounds__(256) r0_fold1(const float* __restrict__ p0 /* x */, float* __restrict__ p1 /* out */, r0_pass1* parts1) {
  const unsigned tx = threadIdx.x % 32;
  const unsigned ty = threadIdx.x / 32;
  const unsigned rank = blockIdx.x / (gridDim.x / 8);
  const unsigned begin = rank * 2048;
  const unsigned wanted = (unsigned)(blockIdx.x % (gridDim.x / 8)) * 32 + tx;
  const bool live = wanted < (8192 / 4);
  const unsigned k = (live ? wanted : (8192 / 4) - 1) * 4;
  __shared__ __align__(16) unsigned char tile[8192];
  r0_pass1 part1[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) part1[e].clear();
#pragma unroll 1
  for (int i = 0; i < 256; i += 4) {
    kw_vec<float, 4> x0[4];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
      const unsigned r = begin + (i + u) * 8 + ty;
      const unsigned i1 = r;
      x0[u] = kw_load<1, float, 4>(p0 + (k + (long long)i1 * 8192));
    }
    float tf1[16];
#pragma unroll
    for (int u = 0; u < 4; ++u) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float n0 = x0[u].v[e];
        tf1[e * 4 + u] = n0;
      }
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) part1[e].f1.add<4>(tf1 + e * 4);
  }
  r0_pass1* const slots1 = reinterpret_cast<r0_pass1*>(tile);
#pragma unroll
  for (int e = 0; e < 4; ++e) slots1[(ty * 4 + e) * 32 + tx] = part1[e];
  __syncthreads();
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    part1[e].clear();
    for (int t = 0; t < 8; ++t) part1[e].merge(slots1[(t * 4 + e) * 32 + tx]);
  }
  if (live && ty == 0) {
#pragma unroll
    for (int e = 0; e < 4; ++e) parts1[(long long)rank * 8192 + k + e] = part1[e];
  }
}

extern "C" __global__ void __launch_bounds__(256) r0(const float* __restrict__ p0 /* x */, float* __restrict__ p1 /* out */, r0_pass1* parts1) {
  const unsigned tx = threadIdx.x % 32;
  const unsigned ty = threadIdx.x / 32;
  const unsigned wanted = (unsigned)(blockIdx.x % (gridDim.x / 1)) * 32 + tx;
  const bool live = wanted < (8192 / 4);
  const unsigned k = (live ? wanted : (8192 / 4) - 1) * 4;
  r0_pass1 part1[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) part1[e].clear();
  for (int s = 0; s < 8; ++s) {
#pragma unroll
    for (int e = 0; e < 4; ++e) part1[e].merge(kw_read_state(parts1 + ((long long)s * 8192 + k + e)));
  }
  float n1[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) n1[e] = part1[e].f1.total();
  {
#pragma unroll
    for (int u = 0; u < 1; ++u) {
      kw_vec<float, 4> y0;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float n3 = (n1[e] / (float)16384);
        y0.v[e] = n3;
      }
      if (live && ty == 0) kw_store<1, float, 4>(p1 + (k), y0);
    }
  }
}
