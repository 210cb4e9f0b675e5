"""Templates in C++ for the CPU, and the lanes and math that their kernels share."""
