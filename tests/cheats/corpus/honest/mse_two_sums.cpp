// accepted: a float for each of sixty-four lanes, folded in halves, in scratch of the plan.
// problem: mse
// kernelwright: {"scratch": [{"name": "lanes", "dtype": "float32", "shape": [64]}]}
#include <algorithm>
#include <cstdint>

extern "C" void into_lanes(const float *given, const float *target, float *lanes, int64_t rows, int64_t columns) {
    std::fill_n(lanes, 64, 0.0f);
    for (int64_t i = 0; i < rows * columns; ++i) {
        const float apart = given[i] - target[i];
        lanes[i % 64] += apart * apart;
    }
}

extern "C" void fold(float *lanes, float *out, int64_t rows, int64_t columns) {
    for (int64_t half = 32; half > 0; half /= 2)
        for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    *out = lanes[0] / float(rows * columns);
}
