// No barrier between two warps that meet in shared memory: right as long as both keep step (racecheck).
// kernelwright: {"grid": ["rows", 1, 1], "block": [256, 1, 1]}

typedef long long int64_t;

extern "C" __global__ void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    __shared__ float sums[256];
    const float *row = x + blockIdx.x * features;
    float *result = out + blockIdx.x * features;
    float sum = 0;
    for (int64_t i = threadIdx.x; i < features; i += blockDim.x) sum += row[i] * row[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        if (half > 64) __syncthreads();
        else __syncwarp();
    }
    __syncthreads();
    const float scale = 1.0f / sqrtf(sums[0] / features + 1e-6f);
    for (int64_t i = threadIdx.x; i < features; i += blockDim.x) {
        const float value = row[i] * scale * weight[i];
        result[i] = value < 0 ? 0.0f : value;
    }
}
