"""The option pricing kernels as kernels: who wrote them, and the same answers from narrower vector code."""

from __future__ import annotations

import ctypes as c
import os
import re
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelwright.core.kernel import Kernel
from kernelwright.core.target import Target
from kernelwright.execute.bind import bind
from kernelwright.execute.bound import BoundLaunch, BoundMemset
from kernelwright.execute.launcher import HostModule
from kernelwright.languages import build
from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing.faults import FAULT_WORDS
from kernelwright.workloads.option_pricing.kernels import device_kernel, evaluate_kernel, implied_kernel
from kernelwright.workloads.option_pricing.native import SHORT, Frame

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


def fastest(kernel: Kernel, entry: str, values: list[Any]) -> float:
    """Seconds of a call of SHORT options, the least of some."""
    made = build(kernel, Target.parse("cpu"))
    assert made.artifact is not None, made.log
    call = c.CFUNCTYPE(None, c.c_void_p)(HostModule(made.artifact).entry(entry, 0, 1))
    numbers = (63, 1) if entry == "evaluate" else (1,)
    frame, taken = Frame(call, numbers=2 + len(numbers)), []
    for _ in range(30):
        begun = time.perf_counter()
        frame.short(values, SHORT, numbers[0].bit_count(), numbers)
        taken.append(time.perf_counter() - begun)
    return min(taken)


@pytest.mark.parametrize("entry", ["evaluate", "implied"])
def test_loops_over_options_are_vector_code(entry: str) -> None:
    """Compilers give up on a vector loop without a word: without vectors it takes more than twice as long."""
    rng = np.random.default_rng(9)
    strikes = rng.uniform(90, 110, SHORT)
    last = rng.uniform(0.1, 0.8, SHORT) if entry == "evaluate" else rng.uniform(12, 30, SHORT)
    values = [np.ones(SHORT), 100.0, strikes, 0.5, 0.03, 0.0, last]
    kernel = {"evaluate": evaluate_kernel, "implied": implied_kernel}[entry]()
    sources = tuple(
        each.model_copy(update={"text": each.text.replace("#pragma omp simd", "//")})
        for each in kernel.sources
    )
    plain = kernel.model_copy(update={"sources": sources, "options": ("-fno-tree-vectorize",)})
    assert fastest(kernel, entry, values) < 0.5 * fastest(plain, entry, values)


@pytest.mark.skipif(find_spec("cuda.bindings") is None, reason="no CUDA compiler")
@pytest.mark.parametrize(
    ("entry", "level"), [("evaluate", 0), ("evaluate", 1), ("evaluate", 2), ("implied", 0)]
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kernels_for_a_gpu_build(entry: str, level: int, dtype: Any) -> None:
    made = build(device_kernel(entry, dtype, level), Target.parse("cuda:sm_90"))
    assert made.status == "built", made.log
    assert made.resources[entry].get("spill_bytes", 0) <= 32 and made.resources[entry]["registers"] <= 128


def test_the_plan_of_a_gpu_kernel_binds() -> None:
    for entry, numbers in (
        ("evaluate", ("n", "scalars", "wanted", "model")),
        ("implied", ("n", "scalars", "model")),
    ):
        plan = device_kernel(entry, "float32").plan
        assert plan is not None
        clear, launch = bind(plan, dict.fromkeys(numbers, 1000)).run
        assert isinstance(clear, BoundMemset) and clear.nbytes == 8 * FAULT_WORDS
        assert (
            isinstance(launch, BoundLaunch)
            and launch.grid == (4, 1, 1)
            and len(launch.args) == 9 + len(numbers)
        )


@pytest.mark.skipif("avx2" not in Path("/proc/cpuinfo").read_text(), reason="for processors with AVX2")
@pytest.mark.parametrize("entry", ["evaluate", "implied"])
def test_no_vector_loop_was_given_up(entry: str, tmp_path: Path) -> None:
    """By the compiler's own report: the clock does not see one loop of several."""
    kernel = {"evaluate": evaluate_kernel, "implied": implied_kernel}[entry]()
    for source in kernel.sources:
        (tmp_path / source.path).write_text(source.text)
    text = (tmp_path / f"{entry}.cpp").read_text().splitlines()
    command = [
        "g++", "-std=c++20", "-O3", "-march=x86-64-v3", "-fopenmp", "-fno-math-errno", "-fno-trapping-math",
        "-fopt-info-vec-missed", "-c", f"{entry}.cpp", "-o", os.devnull,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    missed = {int(n) for n in re.findall(rf"{entry}\.cpp:(\d+):\d+: missed: couldn't vectorize", done.stderr)}
    starts = [number for number, line in enumerate(text, 1) if line.startswith("#pragma omp simd")]
    loops = [range(start, text.index("    }", start) + 2) for start in starts]
    assert loops and not [number for number in missed if any(number in loop for loop in loops)]
