// A softmax over the last axis, for examples/problems/softmax.py.
//
//     kernelwright verify examples/kernels/softmax.cpp --problem examples/problems/softmax.py
//
// Parameters are called like the problem's inputs, outputs and axes. It is plain on purpose, to show the form:
// std::exp for one element at a time makes it slower than torch, and the judge says so.
#include <cmath>
#include <cstdint>

extern "C" void softmax(const float *scores, float *out, int64_t batch, int64_t heads, int64_t queries,
                        int64_t keys) {
#pragma omp parallel for
    for (int64_t row = 0; row < batch * heads * queries; ++row) {
        const float *x = scores + row * keys;
        float *y = out + row * keys;
        float top = -INFINITY;
        for (int64_t i = 0; i < keys; ++i) top = (x[i] > top || x[i] != x[i]) ? x[i] : top;
        double sum = 0;
        for (int64_t i = 0; i < keys; ++i) {
            y[i] = std::exp(x[i] - top);
            sum += y[i];
        }
        for (int64_t i = 0; i < keys; ++i) y[i] /= static_cast<float>(sum);
    }
}
