extern "C" void r0(const float *b0, float *b1, int64_t n_tokens) {
  #pragma omp parallel
  {
    kw::Local<float> now2(2048);
    kw::Local<double> all2(2048);
    const kw::Share part = kw::share(2);
    for (int64_t item = part.begin; item < part.end; ++item) {
      const int64_t lo = item % 2 * 2048;
      const int64_t hi = lo + 2048 < 4096 ? lo + 2048 : 4096;
      {
        kw::begin<kw::SumOp>(now2.at, all2.at, hi - lo);
        for (int64_t block = 0; block < n_tokens; block += 64) {
          const int64_t end = block + 64 < n_tokens ? block + 64 : n_tokens;
          int64_t i0 = block;
          for (; i0 + 4 <= end; i0 += 4) {
            const auto *p0 = b0 + i0 * 4096;
            kw::sweep<2>(lo, hi, 0, [&](auto lanes, int64_t j, auto) {
              auto a2 = kw::load(now2.at - lo + j, lanes);
              kw::vf v2_0;
              {
                const kw::vf t0 = kw::load(p0 + j, lanes);
                const kw::vf t1 = t0 * t0;
                v2_0 = t1;
              }
              kw::vf v2_1;
              {
                const kw::vf t0 = kw::load(p0 + 4096 + j, lanes);
                const kw::vf t1 = t0 * t0;
                v2_1 = t1;
              }
              kw::vf v2_2;
              {
                const kw::vf t0 = kw::load(p0 + 8192 + j, lanes);
                const kw::vf t1 = t0 * t0;
                v2_2 = t1;
              }
              kw::vf v2_3;
              {
                const kw::vf t0 = kw::load(p0 + 12288 + j, lanes);
                const kw::vf t1 = t0 * t0;
                v2_3 = t1;
              }
              a2 = kw::SumOp::of(a2, kw::SumOp::of(kw::SumOp::of(v2_0, v2_1), kw::SumOp::of(v2_2, v2_3)));
              kw::store(now2.at - lo + j, a2, lanes);
            }, [] {});
          }
          for (; i0 + 1 <= end; i0 += 1) {
            const auto *p0 = b0 + i0 * 4096;
            kw::sweep<2>(lo, hi, 0, [&](auto lanes, int64_t j, auto) {
              auto a2 = kw::load(now2.at - lo + j, lanes);
              kw::vf v2_0;
              {
                const kw::vf t0 = kw::load(p0 + j, lanes);
                const kw::vf t1 = t0 * t0;
                v2_0 = t1;
              }
              a2 = kw::SumOp::of(a2, v2_0);
              kw::store(now2.at - lo + j, a2, lanes);
            }, [] {});
          }
          kw::put_away<kw::SumOp>(now2.at, all2.at, hi - lo);
        }
        kw::end(now2.at, all2.at, hi - lo);
      }
      {
        auto *q0 = b1;
        const int64_t ahead = kw::head(q0 + lo, hi - lo);
        kw::sweep<2>(lo, hi, ahead, [&](auto lanes, int64_t j, auto u) {
          (void)lanes, (void)u;
          const kw::vf t2 = kw::load(now2.at - lo + j, lanes);
          kw::stream(q0 + j, t2, lanes);
        }, [&] {  });
      }
    }
    _mm_sfence();
  }
}
