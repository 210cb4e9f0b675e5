// Each thread adds up its squares in half precision; the tree over threads is in float32.
// kernelwright: {"grid": ["rows", 1, 1], "block": [256, 1, 1]}

typedef long long int64_t;

__device__ unsigned twice(float value) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(pair) : "f"(value));
    return pair;
}

extern "C" __global__ void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    __shared__ float sums[256];
    const float *row = x + blockIdx.x * features;
    float *result = out + blockIdx.x * features;
    unsigned pair = 0;
    for (int64_t i = threadIdx.x; i < features; i += blockDim.x)
        asm("fma.rn.f16x2 %0, %1, %1, %0;" : "+r"(pair) : "r"(twice(row[i])));
    float sum;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low;}" : "=f"(sum) : "r"(pair));
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = 1.0f / sqrtf(sums[0] / features + 1e-6f);
    for (int64_t i = threadIdx.x; i < features; i += blockDim.x) {
        const float value = row[i] * scale * weight[i];
        result[i] = value < 0 ? 0.0f : value;
    }
}
