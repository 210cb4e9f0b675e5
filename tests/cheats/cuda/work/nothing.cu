// Does nothing at all.
// kernelwright: {"grid": ["rows", 1, 1], "block": [256, 1, 1]}

typedef long long int64_t;

extern "C" __global__ void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
}
