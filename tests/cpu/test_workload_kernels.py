"""The option pricing kernels as kernels: who wrote them, and the same answers from narrower vector code."""

from __future__ import annotations

import ctypes as c
from pathlib import Path

import numpy as np
import pytest

from kernelwright.core.target import Target
from kernelwright.execute.launcher import HostModule
from kernelwright.languages import build
from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing.kernels import evaluate_kernel, implied_kernel
from kernelwright.workloads.option_pricing.native import Frame

EPS = 2.0**-52


def test_both_say_that_they_were_written_by_hand() -> None:
    for kernel in (evaluate_kernel(), implied_kernel()):
        assert kernel.proposer.name == "by hand" and kernel.trust == "sealed"


@pytest.mark.skipif("avx2" not in Path("/proc/cpuinfo").read_text(), reason="for processors with AVX2")
@pytest.mark.parametrize("option", ["-march=x86-64-v3", "-mprefer-vector-width=128"])
def test_narrower_vectors_give_the_same(option: str) -> None:
    rng = np.random.default_rng(8)
    count = 1000
    flags, strikes = np.where(rng.random(count) < 0.5, 1.0, -1.0), rng.uniform(60, 160, count)
    years, sigmas = rng.uniform(0.05, 2, count), rng.uniform(0.1, 0.8, count)
    values = [flags, 100.0, strikes, years, 0.03, 0.01, sigmas]
    kernel = evaluate_kernel()
    made = build(kernel.model_copy(update={"options": (option,)}), Target.parse("cpu"))
    assert made.artifact is not None, made.log
    entry = c.CFUNCTYPE(None, c.c_void_p)(HostModule(made.artifact).entry("evaluate", 0, 1))
    got = Frame(entry, numbers=4).short(values, count, 1, (1, 1)).copy()
    wanted = op.price(flags, 100.0, strikes, years, 0.03, sigmas, 0.01)
    np.testing.assert_allclose(got, wanted, rtol=16 * EPS)
