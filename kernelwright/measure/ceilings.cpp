// Memory ceilings of a CPU: read, write and copy over all threads, with ordinary and with
// non-temporal stores. Buffers are 64-byte aligned and `n` is a multiple of 16 floats per thread.
#include <cstdint>
#include <omp.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct Share { int64_t begin, end; };

static Share share_of(int64_t n) {
    const int64_t threads = omp_get_num_threads(), mine = omp_get_thread_num();
    const int64_t lines = n / 16;
    return {lines * mine / threads * 16, lines * (mine + 1) / threads * 16};
}

extern "C" void read_all(const float *in, float *out, int64_t n) {
    float total = 0.0f;
#pragma omp parallel reduction(+ : total)
    {
        const Share share = share_of(n);
        float lanes[64] = {};
        int64_t i = share.begin;
        for (; i + 64 <= share.end; i += 64)
            for (int lane = 0; lane < 64; ++lane) lanes[lane] += in[i + lane];
        for (; i < share.end; ++i) lanes[0] += in[i];
        for (int lane = 0; lane < 64; ++lane) total += lanes[lane];
    }
    out[0] = total;
}

extern "C" void write_plain(float *out, int64_t n) {
#pragma omp parallel
    {
        const Share share = share_of(n);
        for (int64_t i = share.begin; i < share.end; ++i) out[i] = 1.5f;
    }
}

extern "C" void copy_plain(const float *in, float *out, int64_t n) {
#pragma omp parallel
    {
        const Share share = share_of(n);
        for (int64_t i = share.begin; i < share.end; ++i) out[i] = in[i] + 1.0f;
    }
}

extern "C" void write_streamed(float *out, int64_t n) {
#if defined(__x86_64__)
#pragma omp parallel
    {
        const Share share = share_of(n);
        const __m128 value = _mm_set1_ps(1.5f);
        for (int64_t i = share.begin; i < share.end; i += 4) _mm_stream_ps(out + i, value);
        _mm_sfence();
    }
#else
    write_plain(out, n);
#endif
}

extern "C" void copy_streamed(const float *in, float *out, int64_t n) {
#if defined(__x86_64__)
#pragma omp parallel
    {
        const Share share = share_of(n);
        const __m128 one = _mm_set1_ps(1.0f);
        for (int64_t i = share.begin; i < share.end; i += 4) _mm_stream_ps(out + i, _mm_add_ps(_mm_load_ps(in + i), one));
        _mm_sfence();
    }
#else
    copy_plain(in, out, n);
#endif
}
