// accepted: distances in double, the small constant added to each difference.
// problem: triplet
#include <cmath>
#include <cstdint>

extern "C" void margins(const float *anchor, const float *positive, const float *negative, float *out, int64_t rows, int64_t columns) {
    double total = 0;
    for (int64_t r = 0; r < rows; ++r) {
        double near = 0, far = 0;
        for (int64_t i = r * columns; i < (r + 1) * columns; ++i) {
            const double p = double(anchor[i]) - positive[i] + 1e-6, n = double(anchor[i]) - negative[i] + 1e-6;
            near += p * p;
            far += n * n;
        }
        const double loss = 1.0 + std::sqrt(near) - std::sqrt(far);
        total += loss < 0 ? 0.0 : loss;
    }
    *out = float(total / double(rows));
}
