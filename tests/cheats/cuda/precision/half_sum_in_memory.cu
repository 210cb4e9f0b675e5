// Threads of a block meet in one word of shared memory, and add to it in half precision.
// kernelwright: {"grid": ["rows", 1, 1], "block": [256, 1, 1]}

typedef long long int64_t;

extern "C" __global__ void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    __shared__ unsigned total;
    const float *row = x + blockIdx.x * features;
    float *result = out + blockIdx.x * features;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    float sum = 0;
    for (int64_t i = threadIdx.x; i < features; i += blockDim.x) sum += row[i] * row[i];
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(pair) : "f"(sum));
    const unsigned place = (unsigned)__cvta_generic_to_shared(&total);
    asm volatile("red.shared.add.noftz.f16x2 [%0], %1;" :: "r"(place), "r"(pair) : "memory");
    __syncthreads();
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low;}" : "=f"(sum) : "r"(total));
    const float scale = 1.0f / sqrtf(sum / features + 1e-6f);
    for (int64_t i = threadIdx.x; i < features; i += blockDim.x) {
        const float value = row[i] * scale * weight[i];
        result[i] = value < 0 ? 0.0f : value;
    }
}
