"""The pack's kernels as sealed `Kernel`s, which `kernelwright.languages` builds and caches.

Both are written by hand (their proposer says so); neither was found by a search. They serve calls of any
length, so that their plans have axes of their own: `n` options, `scalars` (a bit for each input that is one
value), `wanted` (a bit for each result) and `model`.
"""

from __future__ import annotations

import platform
from pathlib import Path

from kernelwright.core.kernel import Kernel, Proposer, Source
from kernelwright.core.plan import Arg, Buffer, BufferArg, Call, IntArg, Plan

INPUTS = ("sign", "underlying", "strike", "years", "rate", "dividend_yield")
OPTIONS = ("-mprefer-vector-width=512",) if platform.machine() in ("x86_64", "AMD64") else ()
HEADERS = ("black.h", "coefficients.h", "elementary.h", "faults.h", "mills.h")


def evaluate_kernel() -> Kernel:
    """Price and Greeks in one pass."""
    return _kernel("evaluate", (*INPUTS, "volatility"), ("n", "scalars", "wanted", "model"))


def implied_kernel() -> Kernel:
    """Implied volatility."""
    return _kernel("implied", (*INPUTS, "price"), ("n", "scalars", "model"))


def _kernel(entry: str, inputs: tuple[str, ...], numbers: tuple[str, ...]) -> Kernel:
    buffers = (
        *(Buffer(name=name, role="input", dtype="float64", shape=("n",)) for name in inputs),
        Buffer(name="results", role="output", dtype="float64", shape=("n",)),
        Buffer(name="faults", role="output", dtype="int64", shape=(7,)),
    )
    arguments: tuple[Arg, ...] = (
        *(BufferArg(buffer=buffer.name) for buffer in buffers),
        *(IntArg(value=name) for name in numbers),
    )
    return Kernel(
        name=f"option_pricing.{entry}",
        problem=f"option_pricing.{entry}",
        language="cpp",
        sources=tuple(_source(name) for name in (f"{entry}.cpp", *HEADERS)),
        plan=Plan(buffers=buffers, run=(Call(entry=entry, args=arguments),)),
        options=OPTIONS,
        proposer=Proposer(name="by hand"),
    )


def _source(name: str) -> Source:
    return Source(path=name, text=Path(__file__).with_name(name).read_text(encoding="utf-8"))
