extern "C" void r0(const float *b0, const float *b1, float *b2, int64_t n_tokens) {
  #pragma omp parallel
  {
    const kw::Share part = kw::share(n_tokens);
    for (int64_t item = part.begin; item < part.end; ++item) {
      int64_t rest = item;
      const int64_t i0 = rest;
      const float t3 = float(4096);
      kw::Sum<kw::vf, 4> r2;
      {
        constexpr int64_t lo = 0, hi = 4096;
        const auto *p0 = b0 + i0 * 4096;
        kw::sweep<4>(lo, hi, 0, [&](auto lanes, int64_t j, auto u) {
          (void)lanes, (void)u;
          const kw::vf t0 = kw::load(p0 + j, lanes);
          const kw::vf t1 = t0 * t0;
          r2.add(t1, lanes, u);
        }, [&] { r2.flush(); });
      }
      const float t2 = r2.total();
      const float t4 = t2 / t3;
      const float t6 = t4 + 1e-06f;
      const float t7 = kw::rsqrt(t6);
      {
        constexpr int64_t lo = 0, hi = 4096;
        const auto *p0 = b0 + i0 * 4096;
        const auto *p9 = b1;
        auto *q0 = b2 + i0 * 4096;
        const auto s7 = kw::splat(t7);
        const int64_t ahead = kw::head(q0 + lo, hi - lo);
        kw::sweep<4>(lo, hi, ahead, [&](auto lanes, int64_t j, auto u) {
          (void)lanes, (void)u;
          kw::prefetch(p0 + j + 4096);
          const kw::vf t0 = kw::load(p0 + j, lanes);
          const kw::vf t8 = t0 * s7;
          const kw::vf t9 = kw::load(p9 + j, lanes);
          const kw::vf t10 = t8 * t9;
          const kw::vf t12 = t10 * kw::splat(0.5f);
          const kw::vf t14 = t10 * kw::splat(0.7071067811865476f);
          const kw::vf t15 = kw::erf(t14);
          const kw::vf t17 = t15 + kw::splat(1.0f);
          const kw::vf t18 = t12 * t17;
          kw::stream(q0 + j, t18, lanes);
        }, [&] {  });
      }
    }
    _mm_sfence();
  }
}
