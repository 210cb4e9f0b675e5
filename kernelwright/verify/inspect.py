"""Worker-side: what the gates look at in the candidate's process, called by name.

Checksums of what a kernel must not write, copies of one draw onto another slot's addresses, and
checksums of outputs. On a CPU all of this runs in a process that the candidate's native code
shares, so an honest answer is not certain; the comparison in the reference's process is what counts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from kernelwright.execute.refill import refill
from kernelwright.execute.state import bench_state

_CHUNKS = {"cpu": 1 << 16, "cuda": 1 << 25}
"""Words summed at once: on a CPU what a core's private cache holds together with their weights."""


def protected(state: dict[str, Any], *, slot: str) -> dict[str, list[int]]:
    """Checksums of the inputs of `slot` and of the weights, without those that the problem mutates."""
    bench = bench_state(state)
    tensors = [leaf for leaf in pytree.tree_leaves(bench.slot(slot).args) if isinstance(leaf, Tensor)]
    named = dict(zip((spec.name for spec in bench.problem.inputs), tensors, strict=True))
    named |= bench.reference.weights()
    return {name: checksum(each) for name, each in named.items() if name not in bench.problem.mutated}


def outputs(state: dict[str, Any], *, slot: str) -> list[list[int]]:
    """Checksums of what the last run on `slot` gave."""
    return [checksum(output) for output in bench_state(state).slot(slot).outputs]


def copy_inputs(state: dict[str, Any], *, source: str, onto: str) -> None:
    """Other contents at the same addresses: copy the inputs of `source` into those of `onto`."""
    bench = bench_state(state)
    place = bench.slot(onto)
    refill(place.args, bench.slot(source).args)
    place.made = bench.slot(source).made  # what a run that changes its inputs begins with


def checksum(tensor: Tensor) -> list[int]:
    """Two sums that change when a byte changes or two different 64-bit words of a chunk are swapped."""
    flat = tensor.detach().contiguous().view(-1).view(torch.uint8)
    if flat.numel() % 8:
        flat = torch.nn.functional.pad(flat, (0, -flat.numel() % 8))
    words = flat.view(torch.int64)
    size = min(_CHUNKS[flat.device.type], max(words.numel(), 1))
    weights = torch.arange(1, 2 * size, 2, dtype=torch.int64, device=flat.device)
    plain, weighted = 0, 0
    for number, start in enumerate(range(0, words.numel(), size)):
        chunk = words[start : start + size]
        plain += int(chunk.sum())
        weighted += (2 * number + 1) * int((chunk * weights[: chunk.numel()]).sum())
    return [plain % 2**63, weighted % 2**63]
