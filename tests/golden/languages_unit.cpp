#include "kw_shim.h"
#line 1 "kernel.cpp"
#include <cstdint>

extern "C" void scale(const float *x, float *out, std::int64_t n, float by) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * by;
}

#line 3 "kernel.cpp"
static_assert(kw_shim::kw_signature<decltype(&::scale)>::kw_returns_nothing, "scale: the function must return void");
#line 3 "kernel.cpp"
static_assert(kw_shim::kw_signature<decltype(&::scale)>::kw_count == 4, "scale: the plan passes 4 arguments (buffer 'x', buffer 'out', integer 'n * 2', number 0.5)");
#line 3 "kernel.cpp"
static_assert(kw_shim::kw_buffer<decltype(&::scale), 0, kw_shim::kw_float32>(), "scale: parameter 1 takes buffer 'x' of dtype float32: declare it 'float *'");
#line 3 "kernel.cpp"
static_assert(kw_shim::kw_buffer<decltype(&::scale), 1, kw_shim::kw_float32>(), "scale: parameter 2 takes buffer 'out' of dtype float32: declare it 'float *'");
#line 3 "kernel.cpp"
static_assert(kw_shim::kw_number<decltype(&::scale), 2, kw_shim::kw_int32>(), "scale: parameter 3 takes integer 'n * 2' of dtype int32: declare it 'std::int32_t'");
#line 3 "kernel.cpp"
static_assert(kw_shim::kw_number<decltype(&::scale), 3, kw_shim::kw_float64>(), "scale: parameter 4 takes number 0.5 of dtype float64: declare it 'double'");
#line 1 "kernelwright shim of scale"
extern "C" __attribute__((visibility("default"))) void kw_scale(void *const *kw_args);
void kw_scale(void *const *kw_args) { kw_shim::kw_invoke(&::scale, kw_args); }
