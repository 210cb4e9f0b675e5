// rejected (answer, contract): right result, but the state that should change stays as it is
// problem: in_place
#include <cstdint>

extern "C" void unchanged(float *state, const float *step, float *out, int64_t state_numel) {
    for (int64_t i = 0; i < state_numel; ++i) {
        const float moved = state[i] + 0.5f * step[i];
        out[i] = moved * moved;
    }
}
