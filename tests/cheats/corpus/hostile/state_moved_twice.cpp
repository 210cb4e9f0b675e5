// rejected (answer, precision, contract): the state moves by a whole step where the reference takes half of it
// problem: in_place
#include <cstdint>

extern "C" void whole_step(float *state, const float *step, float *out, int64_t state_numel) {
    for (int64_t i = 0; i < state_numel; ++i) {
        state[i] += step[i];
        out[i] = state[i] * state[i];
    }
}
