// accepted: the weight is transposed when weights change, so that the inner loop runs over outputs.
// problem: linear_relu
// kernelwright: {"plan": {"buffers": [
//   {"name": "x", "role": "input", "dtype": "float32", "shape": ["rows", "features"]},
//   {"name": "linear.weight", "role": "weight", "dtype": "float32", "shape": ["hidden", "features"]},
//   {"name": "linear.bias", "role": "weight", "dtype": "float32", "shape": ["hidden"]},
//   {"name": "packed", "role": "prepared", "dtype": "float32", "shape": ["features", "hidden"]},
//   {"name": "out", "role": "output", "dtype": "float32", "shape": ["rows", "hidden"]}],
//  "prepare": [{"kind": "call", "entry": "pack", "args": [
//   {"kind": "buffer", "buffer": "linear.weight"}, {"kind": "buffer", "buffer": "packed"},
//   {"kind": "int", "value": "features"}, {"kind": "int", "value": "hidden"}]}],
//  "run": [{"kind": "call", "entry": "multiply", "args": [
//   {"kind": "buffer", "buffer": "x"}, {"kind": "buffer", "buffer": "packed"}, {"kind": "buffer", "buffer": "linear.bias"},
//   {"kind": "buffer", "buffer": "out"}, {"kind": "int", "value": "rows"}, {"kind": "int", "value": "features"},
//   {"kind": "int", "value": "hidden"}]}]}}
#include <cstdint>
#include <vector>

extern "C" void pack(const float *weight, float *packed, int64_t features, int64_t hidden) {
    for (int64_t f = 0; f < features; ++f)
        for (int64_t h = 0; h < hidden; ++h) packed[f * hidden + h] = weight[h * features + f];
}

extern "C" void multiply(const float *x, const float *packed, const float *bias, float *out, int64_t rows, int64_t features, int64_t hidden) {
#pragma omp parallel for
    for (int64_t r = 0; r < rows; ++r) {
        float *to = out + r * hidden;
        for (int64_t h = 0; h < hidden; ++h) to[h] = bias[h];
        for (int64_t f = 0; f < features; ++f)
            for (int64_t h = 0; h < hidden; ++h) to[h] += x[r * features + f] * packed[f * hidden + h];
        for (int64_t h = 0; h < hidden; ++h) to[h] = to[h] < 0 ? 0.0f : to[h];
    }
}
