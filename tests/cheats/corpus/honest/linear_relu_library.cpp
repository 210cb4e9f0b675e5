// accepted: the library's product, then a function for bias and ReLU on its result.
// problem: linear_relu
// kernelwright: {"plan": {"buffers": [
//   {"name": "x", "role": "input", "dtype": "float32", "shape": ["rows", "features"]},
//   {"name": "linear.weight", "role": "weight", "dtype": "float32", "shape": ["hidden", "features"]},
//   {"name": "linear.bias", "role": "weight", "dtype": "float32", "shape": ["hidden"]},
//   {"name": "turned", "role": "prepared", "dtype": "float32", "shape": ["features", "hidden"]},
//   {"name": "out", "role": "output", "dtype": "float32", "shape": ["rows", "hidden"]}],
//  "prepare": [{"kind": "call", "entry": "turn", "args": [
//   {"kind": "buffer", "buffer": "linear.weight"}, {"kind": "buffer", "buffer": "turned"},
//   {"kind": "int", "value": "features"}, {"kind": "int", "value": "hidden"}]}],
//  "run": [
//   {"kind": "library", "op": "aten.mm.out", "inputs": [{"buffer": "x"}, {"buffer": "turned"}], "outputs": ["out"]},
//   {"kind": "call", "entry": "finish", "args": [{"kind": "buffer", "buffer": "linear.bias"},
//    {"kind": "buffer", "buffer": "out"}, {"kind": "int", "value": "rows"}, {"kind": "int", "value": "hidden"}]}]}}
#include <cstdint>

extern "C" void turn(const float *weight, float *turned, int64_t features, int64_t hidden) {
    for (int64_t f = 0; f < features; ++f)
        for (int64_t h = 0; h < hidden; ++h) turned[f * hidden + h] = weight[h * features + f];
}

extern "C" void finish(const float *bias, float *out, int64_t rows, int64_t hidden) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t h = 0; h < hidden; ++h, ++out) {
            const float v = *out + bias[h];
            *out = v < 0 ? 0.0f : v;
        }
}
