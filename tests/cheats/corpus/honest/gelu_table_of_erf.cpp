// accepted: the error function from a table of Taylor series about 512 points, made once, good to 1e-14.
// problem: gelu
#include <array>
#include <cmath>
#include <cstdint>

namespace {
constexpr int points = 512;
constexpr double reach = 6.0, step = reach / points;

/// erf and its first four derivatives over their factorials, at each point.
struct Table {
    std::array<std::array<double, 5>, points + 1> at;
    Table() {
        for (int i = 0; i <= points; ++i) {
            const double z = i * step, slope = 2 / std::sqrt(M_PI) * std::exp(-z * z);
            at[i] = {std::erf(z), slope, -z * slope, (2 * z * z - 1) * slope / 3, (3 * z - 2 * z * z * z) * slope / 6};
        }
    }
};
const Table table;

double error_function(double z) {
    const double size = std::fabs(z);
    if (!(size < reach)) return std::erf(z);
    const int i = int(size / step + 0.5);
    const double apart = size - i * step;
    const auto &c = table.at[i];
    const double found = c[0] + apart * (c[1] + apart * (c[2] + apart * (c[3] + apart * c[4])));
    return std::copysign(found, z);
}
}  // namespace

extern "C" void from_table(const float *x, float *out, int64_t x_numel) {
    for (int64_t i = 0; i < x_numel; ++i) {
        const double v = x[i];
        out[i] = float(0.5 * v * (v < -3 ? std::erfc(-v * M_SQRT1_2) : 1 + error_function(v * M_SQRT1_2)));
    }
}
