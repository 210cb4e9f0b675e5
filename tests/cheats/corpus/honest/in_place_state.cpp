// accepted: changes the state where the reference does, and squares what it wrote.
// problem: in_place, in CI
#include <cstdint>

extern "C" void step_and_square(float *state, const float *step, float *out, int64_t state_numel) {
    for (int64_t i = 0; i < state_numel; ++i) {
        state[i] += 0.5f * step[i];
        out[i] = state[i] * state[i];
    }
}
