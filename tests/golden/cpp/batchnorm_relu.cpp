extern "C" void r0(int64_t *b0) {
  const int64_t t0 = kw::load(b0, kw::One{});
  const int64_t t2 = t0 + int64_t(INT64_C(1));
  kw::store(b0, t2, kw::One{});
}

extern "C" void r1(const float *b0, const float *b1, const float *b2, float *b3, float *b4, float *b5, int64_t n_batch, int64_t n_channels) {
  #pragma omp parallel
  {
    const kw::Share part = kw::share(n_channels);
    for (int64_t item = part.begin; item < part.end; ++item) {
      int64_t rest = item;
      const int64_t i1 = rest;
      const float t2 = float(n_batch * 3136);
      const float t12 = kw::load(b1 + i1, kw::One{});
      const float t14 = kw::load(b2 + i1, kw::One{});
      const float t16 = kw::load(b3 + i1, kw::One{});
      const float t18 = t16 * 0.9f;
      const float t23 = t2 - 1.0f;
      const float t24 = t2 / t23;
      const float t26 = kw::load(b4 + i1, kw::One{});
      const float t27 = t26 * 0.9f;
      kw::Sum<kw::vf, 4> r1;
      {
        for (int64_t i0 = 0; i0 < n_batch; ++i0) {
          constexpr int64_t lo = 0, hi = 3136;
          const auto *p0 = b0 + i0 * (n_channels * 3136) + i1 * 3136;
          kw::sweep<4>(lo, hi, 0, [&](auto lanes, int64_t j, auto u) {
            (void)lanes, (void)u;
            const kw::vf t0 = kw::load(p0 + j, lanes);
            r1.add(t0, lanes, u);
          }, [&] { r1.flush(); });
        }
      }
      const float t1 = r1.total();
      const float t3 = t1 / t2;
      const float t20 = t3 * 0.1f;
      const float t21 = t18 + t20;
      kw::store(b3 + i1, t21, kw::One{});
      kw::Sum<kw::vf, 4> r6;
      {
        for (int64_t i0 = 0; i0 < n_batch; ++i0) {
          constexpr int64_t lo = 0, hi = 3136;
          const auto *p0 = b0 + i0 * (n_channels * 3136) + i1 * 3136;
          const auto s3 = kw::splat(t3);
          kw::sweep<4>(lo, hi, 0, [&](auto lanes, int64_t j, auto u) {
            (void)lanes, (void)u;
            kw::prefetch(p0 + j + 3136);
            const kw::vf t0 = kw::load(p0 + j, lanes);
            const kw::vf t4 = t0 - s3;
            const kw::vf t5 = t4 * t4;
            r6.add(t5, lanes, u);
          }, [&] { r6.flush(); });
        }
      }
      const float t6 = r6.total();
      const float t7 = t6 / t2;
      const float t9 = t7 + 1e-05f;
      const float t10 = kw::rsqrt(t9);
      const float t25 = t7 * t24;
      const float t28 = t25 * 0.1f;
      const float t29 = t27 + t28;
      kw::store(b4 + i1, t29, kw::One{});
      {
        for (int64_t i0 = 0; i0 < n_batch; ++i0) {
          constexpr int64_t lo = 0, hi = 3136;
          const auto *p0 = b0 + i0 * (n_channels * 3136) + i1 * 3136;
          auto *q0 = b5 + i0 * (n_channels * 3136) + i1 * 3136;
          const auto s3 = kw::splat(t3);
          const auto s10 = kw::splat(t10);
          const auto s12 = kw::splat(t12);
          const auto s14 = kw::splat(t14);
          const int64_t ahead = kw::head(q0 + lo, hi - lo);
          kw::sweep<4>(lo, hi, ahead, [&](auto lanes, int64_t j, auto u) {
            (void)lanes, (void)u;
            const kw::vf t0 = kw::load(p0 + j, lanes);
            const kw::vf t4 = t0 - s3;
            const kw::vf t11 = t4 * s10;
            const kw::vf t13 = t11 * s12;
            const kw::vf t15 = t13 + s14;
            const kw::vf t30 = kw::relu(t15);
            kw::stream(q0 + j, t30, lanes);
          }, [&] {  });
        }
      }
    }
    _mm_sfence();
  }
}
