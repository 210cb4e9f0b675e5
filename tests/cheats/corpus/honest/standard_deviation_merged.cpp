// accepted: moments of chunks of sixteen, merged two by two as Chan and others do.
// problem: standard_deviation
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {
struct Moments {
    double count = 0, mean = 0, squares = 0;

    Moments operator+(const Moments &other) const {
        const double all = count + other.count, apart = other.mean - mean;
        return {all, mean + apart * other.count / all, squares + other.squares + apart * apart * count * other.count / all};
    }
};

Moments of(const float *x, int64_t count) {
    if (count > 16) return of(x, count / 2) + of(x + count / 2, count - count / 2);
    Moments found{double(count)};
    for (int64_t i = 0; i < count; ++i) found.mean += x[i] / double(count);
    for (int64_t i = 0; i < count; ++i) found.squares += (x[i] - found.mean) * (x[i] - found.mean);
    return found;
}
}  // namespace

extern "C" void merged(const float *x, float *out, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; ++r) {
        const Moments all = of(x + r * columns, columns);
        out[r] = float(std::sqrt(all.squares / (all.count - 1)));
    }
}
