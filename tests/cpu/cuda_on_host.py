"""Builds and runs emitted CUDA kernels on the host, and computes regions in float64 for comparison."""

from __future__ import annotations

import ctypes as c
import re
import subprocess
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

import torch

from kernelwright.core.expr import evaluate
from kernelwright.core.plan import BufferArg, IntArg, Launch, Memset
from kernelwright.graph.loops import Apply, Const, Index, Load, Reduce, Region, SizeOf
from kernelwright.propose.templates.base import Emitted

HERE = Path(__file__).parent
GUARD = 64
"""Elements before and after every buffer that must stay as they were."""


def host_text(emitted: Sequence[Emitted]) -> str:
    """The kernels as C++ for the host: shared memory by block, PTX replaced."""
    names = sorted({name for each in emitted for name in each.header} - {"cuda/asm.cuh"})
    texts = [(files("kernelwright.propose.templates") / name).read_text() for name in names]
    body = "\n".join(each.source for each in emitted)
    body = re.sub(
        r"extern __shared__ __align__\(16\) unsigned char (\w+)\[\];",
        r"char* const \1 = dynamic_shared_memory();",
        body,
    )
    body = re.sub(
        r"__shared__ (?:__align__\(16\) )?([\w ]+) (\w+)((?:\[\d+\])+);",
        r"typedef \1 \2_type\3; "
        r'\2_type& \2 = *reinterpret_cast<\2_type*>(shared_memory("\2", sizeof(\2_type)));',
        body,
    )
    # Every store to global memory, by name of its buffer or through `kw_store`, is seen.
    body = re.sub(r"\b(p\d+|parts\d+)(\[[^=;]+\]) = ", r"stored_at(\1\2) = ", body)
    texts = [
        text.replace("*reinterpret_cast<word*>(p) = w", "stored_at(*reinterpret_cast<word*>(p)) = w")
        for text in texts
    ]
    entries = [step.entry for each in emitted for step in each.steps if isinstance(step, Launch)]
    shims = [f"KW_HOST_ENTRY({name})" for name in entries]
    return "\n".join(['#include "cuda_on_host.h"', *texts, body, *shims])


def build(emitted: Sequence[Emitted], folder: Path) -> c.CDLL:
    """Compile for the host."""
    return build_text(host_text(emitted), folder)


def build_text(text: str, folder: Path) -> c.CDLL:
    """Compile such a text."""
    source, library = folder / "kernels.cpp", folder / "kernels.so"
    source.write_text(text)
    flags = ["-std=c++20", "-O1", "-w", "-shared", "-fPIC", "-ffp-contract=off", "-U_FORTIFY_SOURCE"]
    done = subprocess.run(
        ["g++", *flags, f"-I{HERE}", "-o", str(library), str(source)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[:4000]
    return c.CDLL(str(library))


class _Launch(c.Structure):
    _fields_ = [(name, c.c_uint) for name in ("grid", "threads", "together", "clusters", "shared")]
    _fields_ += [("seed", c.c_ulonglong)]


class Memory:
    """Buffers between guards."""

    def __init__(self) -> None:
        self._whole: dict[str, torch.Tensor] = {}
        self._sizes: dict[str, int] = {}

    def add(self, name: str, values: torch.Tensor) -> None:
        whole = torch.full((values.numel() + 2 * GUARD,), 77, dtype=values.dtype)
        whole[GUARD : GUARD + values.numel()] = values.reshape(-1)
        self._whole[name], self._sizes[name] = whole, values.numel()

    def get(self, name: str) -> torch.Tensor:
        return self._whole[name][GUARD : GUARD + self._sizes[name]]

    def address(self, name: str) -> int:
        return self.get(name).data_ptr()

    def untouched(self) -> bool:
        return all(
            bool((whole[:GUARD] == 77).all() and (whole[GUARD + self._sizes[name] :] == 77).all())
            for name, whole in self._whole.items()
        )


def run(library: c.CDLL, emitted: Emitted, memory: Memory, axes: Mapping[str, int], seed: int) -> None:
    """All steps of one emitted region."""
    for buffer in emitted.scratch:
        words = int(torch.tensor([evaluate(size, axes) for size in buffer.shape]).prod())
        memory.add(buffer.name, torch.full((words,), -1, dtype=torch.int32))
    for step in emitted.steps:
        if isinstance(step, Memset):
            memory.get(step.buffer).fill_(step.byte)
            continue
        assert isinstance(step, Launch)
        _launch(library, step, memory, axes, seed)


def _launch(library: c.CDLL, step: Launch, memory: Memory, axes: Mapping[str, int], seed: int) -> None:
    values: list[c._SimpleCData] = []
    for arg in step.args:
        if isinstance(arg, BufferArg):
            values.append(c.c_void_p(memory.address(arg.buffer)))
        else:
            assert isinstance(arg, IntArg)
            values.append(c.c_longlong(evaluate(arg.value, axes)))
    args = (c.c_void_p * len(values))(*(c.addressof(value) for value in values))
    grid, threads = evaluate(step.grid[0], axes), evaluate(step.block[0], axes)
    cluster = evaluate(step.cluster[0], axes)
    together = grid if step.cooperative else cluster
    launch = _Launch(grid, threads, together, cluster, evaluate(step.shared_bytes, axes), seed)
    getattr(library, f"run_{step.entry}")(c.byref(launch), args)
    library.stored_twice.restype = c.c_long
    assert library.stored_twice() == 0, f"{step.entry}: threads store to elements that are not their own"


# Regions in float64 -----------------------------------------------------------------------------

_ONE = {
    "rsqrt": torch.rsqrt, "relu": torch.relu, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt,
    "erf": torch.erf, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "neg": torch.neg, "abs": torch.abs,
}  # fmt: skip
_TWO = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow,
    "maximum": torch.maximum, "minimum": torch.minimum,
}  # fmt: skip
_FOLD = {"sum": torch.sum, "max": torch.amax, "min": torch.amin}


def buffer_sizes(region: Region) -> dict[str, tuple[int, str]]:
    """Elements and element type of each buffer that a region touches."""
    found: dict[str, tuple[int, str]] = {}
    touched = [(node.access, node.dtype) for node in region.nodes if isinstance(node, Load)]
    touched += [(store.access, store.dtype) for store in region.stores]
    for access, dtype in touched:
        last = int(access.offset) + sum(
            (dim.extent - 1) * int(stride) for dim, stride in zip(region.dims, access.strides, strict=True)
        )
        found[access.buffer] = max(found.get(access.buffer, (0, dtype))[0], last + 1), dtype
    return found


def compute(region: Region, buffers: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What the region stores, in float64, by buffer, flat."""
    shape = [dim.extent for dim in region.dims]
    reduced = sorted(region.reduced)
    values: list[torch.Tensor] = []
    for node in region.nodes:
        match node:
            case Load(access=access):
                flat = buffers[access.buffer].double()
                values.append(flat.as_strided(shape, [int(s) for s in access.strides], int(access.offset)))
            case Const(value=value):
                values.append(torch.tensor(float(value), dtype=torch.float64))
            case SizeOf(dims=dims):
                values.append(torch.tensor(float(torch.tensor([shape[d] for d in dims]).prod())).double())
            case Index(dim=dim):
                line = torch.arange(shape[dim], dtype=torch.float64)
                values.append(
                    line.reshape([-1 if at == dim else 1 for at in range(len(shape))]).expand(shape)
                )
            case Reduce(op=op, arg=arg):
                values.append(_FOLD[op](values[arg].expand(shape), reduced, keepdim=True))
            case Apply(op=op, args=args):
                function = _ONE.get(op) or _TWO[op]
                values.append(function(*(values[arg] for arg in args)))
    results: dict[str, torch.Tensor] = {}
    for store in region.stores:
        out = results.setdefault(store.access.buffer, buffers[store.access.buffer].double().clone())
        strides = [int(stride) for stride in store.access.strides]
        full = any(strides[dim] for dim in reduced)
        once = tuple(slice(0, 1) if at in reduced and not full else slice(None) for at in range(len(shape)))
        value = values[store.value].expand(shape)[once]
        out.as_strided(value.shape, strides, int(store.access.offset)).copy_(value)
    return results
