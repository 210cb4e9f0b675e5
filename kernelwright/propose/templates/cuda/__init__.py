"""Templates in CUDA C++, and the memory, math and reductions that their kernels share."""
