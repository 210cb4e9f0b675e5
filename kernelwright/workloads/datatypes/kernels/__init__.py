"""The pack's kernels as sealed `Kernel`s, which `kernelwright.languages` builds and caches.

They are written by hand (their proposer says so); none was found by a search. One serves every datatype:
the form comes in as a table of integers, laid out as `move.h` says. `m`, `p` and `t` are lengths of the
memory, the packed buffer and the table; `count` and `threads` are the call's.
"""

from __future__ import annotations

from pathlib import Path

from kernelwright.core.kernel import Kernel, Proposer, Source
from kernelwright.core.plan import Arg, Buffer, BufferArg, Call, IntArg, Plan, Role

HEADERS = ("block.h", "move.h", "thin.h")


def pack_kernel() -> Kernel:
    """From memory into the packed buffer."""
    return _move("pack", memory="input", packed="output")


def unpack_kernel() -> Kernel:
    """From the packed buffer into memory."""
    return _move("unpack", memory="mutated", packed="input")


def race_kernel() -> Kernel:
    """Calls a kernel, or an MPI's function, in a loop with a clock around it, for the benchmark."""
    names = (
        "way", "function", "arguments", "memory", "count", "datatype", "packed", "bytes", "comm", "calls",
    )  # fmt: skip
    return Kernel(
        name="datatypes.race",
        problem="datatypes.race",
        language="cpp",
        sources=(_source("race.cpp"),),
        plan=Plan(
            buffers=(Buffer(name="ns", role="output", dtype="int64", shape=(1,)),),
            run=(Call(entry="race", args=(BufferArg(buffer="ns"), *(IntArg(value=name) for name in names))),),
        ),
        proposer=Proposer(name="by hand"),
    )


def _move(entry: str, memory: Role, packed: Role) -> Kernel:
    buffers = (
        Buffer(name="memory", role=memory, dtype="uint8", shape=("m",)),
        Buffer(name="packed", role=packed, dtype="uint8", shape=("p",)),
        Buffer(name="table", role="input", dtype="int64", shape=("t",)),
    )
    arguments: tuple[Arg, ...] = (
        *(BufferArg(buffer=buffer.name) for buffer in buffers),
        IntArg(value="count"),
        IntArg(value="threads"),
    )
    return Kernel(
        name=f"datatypes.{entry}",
        problem=f"datatypes.{entry}",
        language="cpp",
        sources=tuple(_source(name) for name in (f"{entry}.cpp", *HEADERS)),
        plan=Plan(buffers=buffers, run=(Call(entry=entry, args=arguments),)),
        proposer=Proposer(name="by hand"),
    )


def _source(name: str) -> Source:
    return Source(path=name, text=Path(__file__).with_name(name).read_text(encoding="utf-8"))
