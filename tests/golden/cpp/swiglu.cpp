extern "C" void r0(const float *b0, const float *b1, float *b2, int64_t n_features, int64_t n_tokens) {
  #pragma omp parallel
  {
    const kw::Share part = kw::share(((n_tokens * n_features + 32767) / 32768));
    for (int64_t item = part.begin; item < part.end; ++item) {
      const int64_t lo = item % ((n_tokens * n_features + 32767) / 32768) * 32768;
      const int64_t hi = lo + 32768 < (n_tokens * n_features) ? lo + 32768 : (n_tokens * n_features);
      const auto *p0 = b0;
      const auto *p3 = b1;
      auto *q0 = b2;
      const int64_t ahead = kw::head(q0 + lo, hi - lo);
      kw::sweep<2>(lo, hi, ahead, [&](auto lanes, int64_t j, auto u) {
        (void)lanes, (void)u;
        const kw::vf t0 = kw::load(p0 + j, lanes);
        const kw::vf t1 = kw::sigmoid(t0);
        const kw::vf t2 = t0 * t1;
        const kw::vf t3 = kw::load(p3 + j, lanes);
        const kw::vf t4 = t2 * t3;
        kw::stream(q0 + j, t4, lanes);
      }, [&] {  });
    }
    _mm_sfence();
  }
}
