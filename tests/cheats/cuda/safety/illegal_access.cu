// Writes where nothing is mapped.
// kernelwright: {"grid": ["rows", 1, 1], "block": [256, 1, 1]}

typedef long long int64_t;

extern "C" __global__ void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    __shared__ float sums[256];
    const float *row = x + blockIdx.x * features;
    float *result = out + blockIdx.x * features;
    *(float *)0x10 = row[0] + result[0] + sums[0];
}
