"""Row softmax and row normalization in plain Triton: the peers that the CUDA templates are held against.

`resident` keeps a row in registers of one program; `looped` reads it twice, with rescaled sums. Both are
tried with several warps; the caller takes the fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import triton
import triton.language as tl


@triton.jit
def _softmax_resident(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
    top = tl.max(values, 0)
    e = tl.exp(values - top)
    tl.store(out + row * cols + at, e / tl.sum(e, 0), mask=at < cols)


@triton.jit
def _softmax_looped(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        values = tl.load(x + row * cols + start + at, mask=inside, other=-float("inf"))
        above = tl.maximum(top, values)
        total = total * tl.exp(top - above) + tl.exp(values - above)
        top = above
    most = tl.max(top, 0)
    whole = tl.sum(total * tl.exp(top - most), 0)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        values = tl.load(x + row * cols + start + at, mask=inside, other=0.0)
        tl.store(out + row * cols + start + at, tl.exp(values - most) / whole, mask=inside)


@triton.jit
def _norm_resident(x, out, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    mean = tl.sum(values, 0) / cols
    apart = tl.where(at < cols, values - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(apart * apart, 0) / cols + eps)
    tl.store(out + row * cols + at, apart * scale, mask=at < cols)


@triton.jit
def _norm_looped(x, out, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        total += tl.load(x + row * cols + start + at, mask=start + at < cols, other=0.0)
    mean = tl.sum(total, 0) / cols
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, cols, BLOCK):
        values = tl.load(x + row * cols + start + at, mask=start + at < cols, other=0.0)
        apart = tl.where(start + at < cols, values - mean, 0.0)
        squares += apart * apart
    scale = 1.0 / tl.sqrt(tl.sum(squares, 0) / cols + eps)
    for start in range(0, cols, BLOCK):
        inside = start + at < cols
        values = tl.load(x + row * cols + start + at, mask=inside, other=0.0)
        tl.store(out + row * cols + start + at, (values - mean) * scale, mask=inside)


def variants(kind: str, x: torch.Tensor, out: torch.Tensor) -> Iterator[tuple[str, Callable[[], object]]]:
    """Named calls that compute `softmax` or `norm` of the rows of a 2-D float32 tensor into `out`."""
    rows, cols = x.shape
    resident = {"softmax": _softmax_resident, "norm": _norm_resident}[kind]
    looped = {"softmax": _softmax_looped, "norm": _norm_looped}[kind]
    extra = () if kind == "softmax" else (1e-5,)
    block = triton.next_power_of_2(cols)
    if block <= 65536:
        for warps in (4, 8, 16, 32):
            if block // warps <= 8192:
                yield f"resident w{warps}", _call(resident, rows, (x, out, cols, *extra), block, warps)
    if cols > 4096:
        for size, warps in ((4096, 8), (8192, 16), (16384, 32)):
            yield f"looped {size} w{warps}", _call(looped, rows, (x, out, cols, *extra), size, warps)


def _call(kernel, rows: int, args: tuple, block: int, warps: int) -> Callable[[], object]:
    return lambda: kernel[(rows,)](*args, BLOCK=block, num_warps=warps)
