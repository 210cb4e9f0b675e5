// accepted: a copy of a row of the table for each number.
// problem: embedding
#include <cstdint>
#include <cstring>

extern "C" void copies(const int64_t *index, const float *table_weight, float *out, int64_t index_numel) {
    for (int64_t i = 0; i < index_numel; ++i) std::memcpy(out + 24 * i, table_weight + 24 * index[i], 24 * sizeof(float));
}
