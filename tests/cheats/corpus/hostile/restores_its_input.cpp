// rejected (contract, answer, safety): uses an input as scratch, and puts back what was there but for one element
// problem: positive_sqrt
#include <cmath>
#include <cstdint>

extern "C" void nearly_restored(const float *x, float *out, int64_t x_numel) {
    float *own = const_cast<float *>(x);
    for (int64_t i = 0; i < x_numel; ++i) {
        const float v = x[i];
        own[i] = std::sqrt(std::fabs(v));
        out[i] = std::copysign(own[i], v);
        own[i] = i == x_numel / 2 ? std::nextafter(v, 0.0f) : v;
    }
}
