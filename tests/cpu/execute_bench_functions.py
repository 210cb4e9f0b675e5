"""Functions that the bench tests run inside workers."""

from __future__ import annotations

from typing import Any

import torch

from kernelwright.execute.state import bench_state


def same_as_eager(state: dict[str, Any], *, slot: str) -> bool:
    bench = bench_state(state)
    place = bench.slot(slot)
    expected = bench.reference.forward(place.args)
    pairs = zip(place.outputs, expected, strict=True)
    return all(torch.equal(found, wanted) for found, wanted in pairs)


def input_bytes(state: dict[str, Any], *, slot: str, count: int) -> list[int]:
    first = bench_state(state).slot(slot).args[0]
    return list(first.view(torch.uint8)[:count].tolist())


def weight(state: dict[str, Any], *, name: str) -> Any:
    return bench_state(state).reference.weights()[name].tolist()
