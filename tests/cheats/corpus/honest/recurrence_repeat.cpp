// accepted: the plan repeats one step of the recurrence, with the state in scratch.
// problem: recurrence
// kernelwright: {"plan": {"buffers": [
//   {"name": "a", "role": "input", "dtype": "float32", "shape": ["rows", "steps"]},
//   {"name": "x", "role": "input", "dtype": "float32", "shape": ["rows", "steps"]},
//   {"name": "h", "role": "scratch", "dtype": "float32", "shape": ["rows"]},
//   {"name": "out", "role": "output", "dtype": "float32", "shape": ["rows", "steps"]}],
//  "run": [{"kind": "memset", "buffer": "h"},
//   {"kind": "repeat", "index": "t", "count": "steps", "steps": [{"kind": "call", "entry": "advance", "args": [
//    {"kind": "buffer", "buffer": "a"}, {"kind": "buffer", "buffer": "x"}, {"kind": "buffer", "buffer": "h"},
//    {"kind": "buffer", "buffer": "out"}, {"kind": "int", "value": "rows"}, {"kind": "int", "value": "steps"},
//    {"kind": "int", "value": "t"}]}]}]}}
#include <cstdint>

extern "C" void advance(const float *a, const float *x, float *h, float *out, int64_t rows, int64_t steps, int64_t t) {
    for (int64_t r = 0; r < rows; ++r) {
        h[r] = a[r * steps + t] * h[r] + x[r * steps + t];
        out[r * steps + t] = h[r];
    }
}
