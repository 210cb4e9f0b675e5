"""The pack's kernels as sealed `Kernel`s, which `kernelwright.languages` builds and caches.

All are written by hand (their proposer says so); none was found by a search. They serve calls of any length,
so that their plans have axes of their own: `n` options, `scalars` (a bit for each input that is one value),
`wanted` (a bit for each result, `results`) and `model`. CPU and GPU share the headers of the mathematics,
which take what differs between machines from `machine.h`.

On a GPU, `faults` holds complements of positions, and one value for all options is passed by its bits in the
place of its address (`threads.h`).
"""

from __future__ import annotations

import platform
from pathlib import Path

from kernelwright.core.dtypes import Dtype
from kernelwright.core.kernel import Kernel, Proposer, Source
from kernelwright.core.plan import Arg, Buffer, BufferArg, Call, IntArg, Launch, Memset, Plan, Step
from kernelwright.workloads.option_pricing.kernels import results

INPUTS = ("sign", "underlying", "strike", "years", "rate", "dividend_yield")
ENTRIES = {
    "evaluate": ("volatility", ("n", "scalars", "wanted", "model"), ("greeks.h",)),
    "implied": ("price", ("n", "scalars", "model"), ("solve.h",)),
}
"""By entry: its last input, the numbers it takes, and the headers that are its own."""
SHARED = ("black.h", "coefficients.h", "elementary.h", "mills.h")
OPTIONS = ("-mprefer-vector-width=512",) if platform.machine() in ("x86_64", "AMD64") else ()
BLOCK = 256


def evaluate_kernel() -> Kernel:
    """Price and Greeks in one pass, on the CPU."""
    return _on_cpu("evaluate")


def implied_kernel() -> Kernel:
    """Implied volatility, on the CPU."""
    return _on_cpu("implied")


def device_kernel(entry: str, dtype: Dtype, level: int = 0) -> Kernel:
    """Entry `evaluate` or `implied` on a GPU, for inputs and outputs of float64 or float32.

    `level` says how much `evaluate` computes (`results.level_of`).
    """
    clear = Memset(buffer="faults")
    buffers, arguments = _interface(entry, dtype)
    launch = Launch(entry=entry, grid=(f"ceildiv(n, {BLOCK})", 1, 1), block=(BLOCK, 1, 1), args=arguments)
    made = _kernel(entry, "cuda", ("threads.h",), buffers, (clear, launch), ("--fmad=false",))
    real = {"float64": "double", "float32": "float"}[dtype]
    variant = Source(path="variant.h", text=f"using Real = {real};\nconstexpr int LEVEL = {level};\n")
    return made.model_copy(update={"sources": (*made.sources, variant)})


def _on_cpu(entry: str) -> Kernel:
    buffers, arguments = _interface(entry, "float64")
    return _kernel(
        entry, "cpp", ("faults.h", "tiles.h"), buffers, (Call(entry=entry, args=arguments),), OPTIONS
    )


def _interface(entry: str, dtype: Dtype) -> tuple[tuple[Buffer, ...], tuple[Arg, ...]]:
    last, numbers, _ = ENTRIES[entry]
    buffers = (
        *(Buffer(name=name, role="input", dtype=dtype, shape=("n",)) for name in (*INPUTS, last)),
        Buffer(name="results", role="output", dtype=dtype, shape=("n",)),
        Buffer(name="faults", role="output", dtype="int64", shape=(7,)),
    )
    arguments: tuple[Arg, ...] = (
        *(BufferArg(buffer=buffer.name) for buffer in buffers),
        *(IntArg(value=name) for name in numbers),
    )
    return buffers, arguments


def _kernel(
    entry: str, language: str, own: tuple[str, ...], buffers: tuple[Buffer, ...], run: tuple[Step, ...],
    options: tuple[str, ...],
) -> Kernel:  # fmt: skip
    suffix, machine = ("cpp", "machine_host.h") if language == "cpp" else ("cu", "machine_cuda.h")
    names = (f"{entry}.{suffix}", *SHARED, *ENTRIES[entry][2], *own)
    generated = Source(path="results.h", text=results.header())
    return Kernel(
        name=f"option_pricing.{entry}",
        problem=f"option_pricing.{entry}",
        language=language,
        sources=(
            *(Source(path=name, text=_text(name)) for name in names),
            Source(path="machine.h", text=_text(machine)),
            generated,
        ),
        plan=Plan(buffers=buffers, run=run),
        options=options,
        proposer=Proposer(name="by hand"),
    )


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
