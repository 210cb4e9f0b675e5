// Adds up the squares on tensor cores, with accumulators in half precision.
// kernelwright: {"grid": ["ceildiv(rows, 16)", 1, 1], "block": [32, 1, 1]}

typedef long long int64_t;

__device__ unsigned halves(float low, float high) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

__device__ float square(const float *x, int64_t row, int64_t at, int64_t rows, int64_t features) {
    const float value = row < rows && at < features ? x[row * features + at] : 0.0f;
    return value * value;
}

extern "C" __global__ void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    const int lane = threadIdx.x, first = lane / 4, column = lane % 4 * 2;
    const int64_t upper = blockIdx.x * 16ll + first, lower = upper + 8;
    const unsigned one = 0x3c003c00;
    unsigned sums[2] = {0, 0};
    for (int64_t k = 0; k < features; k += 16) {
        unsigned a[4];
        for (int part = 0; part < 4; ++part) {
            const int64_t row = part % 2 ? lower : upper, at = k + column + part / 2 * 8;
            a[part] = halves(square(x, row, at, rows, features), square(x, row, at + 1, rows, features));
        }
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %6}, {%0, %1};"
                     : "+r"(sums[0]), "+r"(sums[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(one));
    }
    for (int part = 0; part < 2; ++part) {
        const int64_t row = part ? lower : upper;
        float sum;
        asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low;}" : "=f"(sum) : "r"(sums[part]));
        const float scale = 1.0f / sqrtf(sum / features + 1e-6f);
        for (int64_t i = lane % 4; row < rows && i < features; i += 4) {
            const float value = x[row * features + i] * scale * weight[i];
            out[row * features + i] = value < 0 ? 0.0f : value;
        }
    }
}
