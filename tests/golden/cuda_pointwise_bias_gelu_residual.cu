extern "C" __global__ void __launch_bounds__(256) r0(const float* __restrict__ p0 /* x */, const float* __restrict__ p1 /* bias */, const float* __restrict__ p2 /* residual */, float* __restrict__ p3 /* out */) {
  const unsigned first = (unsigned)blockIdx.x * 512 + threadIdx.x;
  {
    kw_vec<float, 2> x0[2];
    kw_vec<float, 2> x1[2];
    kw_vec<float, 2> x11[2];
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const unsigned v = first + u * 256;
      const unsigned c = v * 2;
      const unsigned i1 = c % 4096;
      x0[u] = v < 16777216 ? kw_load<0, float, 2>(p0 + (c)) : kw_vec<float, 2>{};
      x1[u] = v < 16777216 ? kw_load<0, float, 2>(p1 + ((long long)i1)) : kw_vec<float, 2>{};
      x11[u] = v < 16777216 ? kw_load<0, float, 2>(p2 + (c)) : kw_vec<float, 2>{};
    }
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const unsigned v = first + u * 256;
      const unsigned c = v * 2;
      kw_vec<float, 2> y0;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float n0 = x0[u].v[e];
        const float n1 = x1[u].v[e];
        const float n2 = (n0 + n1);
        const float n4 = (n2 * 0.7071067811865476f);
        const float n5 = kw_erf(n4);
        const float n7 = (n5 + 1.0f);
        const float n9 = (n2 * 0.5f);
        const float n10 = (n9 * n7);
        const float n11 = x11[u].v[e];
        const float n12 = (n10 + n11);
        y0.v[e] = n12;
      }
      if (v < 16777216) kw_store<1, float, 2>(p3 + (c), y0);
    }
  }
}
