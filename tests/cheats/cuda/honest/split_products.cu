// Adds up the squares on tensor cores: each is split into three TF32 parts, which hold all of its bits, and blocks
// of eight are added to a sum in float32.
// kernelwright: {"grid": ["ceildiv(rows, 16)", 1, 1], "block": [32, 1, 1]}

typedef long long int64_t;

__device__ float square(const float *x, int64_t row, int64_t at, int64_t rows, int64_t features) {
    const float value = row < rows && at < features ? x[row * features + at] : 0.0f;
    return value * value;
}

extern "C" __global__ void rms_relu(const float *x, const float *weight, float *out, int64_t rows, int64_t features) {
    const int lane = threadIdx.x, first = lane / 4, column = lane % 4;
    const int64_t upper = blockIdx.x * 16ll + first, lower = upper + 8;
    const unsigned one = __float_as_uint(1.0f);
    float sums[2] = {0, 0};
    for (int64_t k = 0; k < features; k += 8) {
        float rest[4], block[4] = {0, 0, 0, 0};
        unsigned parts[3][4];
        for (int i = 0; i < 4; ++i)
            rest[i] = square(x, i % 2 ? lower : upper, k + column + i / 2 * 4, rows, features);
        for (int part = 2; part >= 0; --part)
            for (int i = 0; i < 4; ++i) {
                parts[part][i] = __float_as_uint(rest[i]) & 0xffffe000;
                // What is not finite is all in its first part: infinity less itself would be no number.
                rest[i] = isfinite(rest[i]) ? rest[i] - __uint_as_float(parts[part][i]) : 0.0f;
            }
        for (int part = 0; part < 3; ++part)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %8}, {%0, %1, %2, %3};"
                         : "+f"(block[0]), "+f"(block[1]), "+f"(block[2]), "+f"(block[3])
                         : "r"(parts[part][0]), "r"(parts[part][1]), "r"(parts[part][2]), "r"(parts[part][3]), "r"(one));
        sums[0] += block[0];
        sums[1] += block[2];
    }
    for (int part = 0; part < 2; ++part) {
        const int64_t row = part ? lower : upper;
        const float scale = 1.0f / sqrtf(sums[part] / features + 1e-6f);
        for (int64_t i = lane % 4; row < rows && i < features; i += 4) {
            const float value = x[row * features + i] * scale * weight[i];
            out[row * features + i] = value < 0 ? 0.0f : value;
        }
    }
}
