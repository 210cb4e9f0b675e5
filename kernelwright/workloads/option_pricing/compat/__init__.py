"""Other libraries' ways of calling, over this pack's kernels: same names, arguments, units and exceptions.

Put this package's name in front of an import, and leave the rest as it is:

    from kernelwright.workloads.option_pricing.compat.py_vollib.black_scholes import black_scholes
    from kernelwright.workloads.option_pricing.compat import py_vollib_vectorized
    from kernelwright.workloads.option_pricing.compat.fast_vollib import patch_py_vollib

One adapter: `quoted` turns results into the units that all three libraries quote, `scalar` makes py_vollib's
functions of it, `vectorized` those that take arrays and return DataFrames. What is covered, and where results
differ and why: docs/option-pricing-drop-in.md. None of the libraries is imported, except by the functions
that patch them.
"""
