"""Workload packs: each a library for one field, with a reference, a validator and problems for the optimizer.

    from kernelwright.workloads import option_pricing

A pack lives in a package of its own and is listed in `packs`. Nothing is imported here.
"""
