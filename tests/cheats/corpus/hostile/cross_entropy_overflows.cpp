// rejected (answer, precision): exponentials without a maximum, which overflow for large logits
// problem: cross_entropy
#include <cmath>
#include <cstdint>

extern "C" void bare_exponentials(const float *logits, const int64_t *target, float *out, int64_t rows, int64_t classes) {
    float total = 0;
    for (int64_t r = 0; r < rows; ++r) {
        float sum = 0;
        for (int64_t i = 0; i < classes; ++i) sum += std::exp(logits[r * classes + i]);
        total += std::log(sum) - logits[r * classes + target[r]];
    }
    *out = total / float(rows);
}
