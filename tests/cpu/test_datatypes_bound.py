"""Bound calls and copies of packers: memory stays where it is as long as a call knows its address."""

from __future__ import annotations

import array
import copy
import gc
import mmap
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernelwright.workloads.datatypes import Packer
from kernelwright.workloads.datatypes.canonical import canonicalize
from kernelwright.workloads.datatypes.tree import Block, Repeat

COLUMN = Packer(canonicalize(Repeat(4, 16, Block(8))), (0, 64), (0, 56))
LARGE = 1 << 20


class Sub(np.ndarray):
    """A subclass, which comes in by the buffer protocol."""


VIEWS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda a: a,
    "a view": lambda a: a[:],
    "a view of a view": lambda a: a.view(np.uint8)[0:].view(float),
    "its memory": memoryview,
    "a part of its memory": lambda a: memoryview(memoryview(a)[0:]),
    "read-only": lambda a: np.frombuffer(memoryview(a).toreadonly()),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "bind": lambda memory: COLUMN.bind(memory),
    "bind out": lambda memory: COLUMN.bind(np.ones(8), 1, memory),
    "bind_unpack from": lambda memory: COLUMN.bind_unpack(memory, np.zeros(8)),
    "bind_unpack": lambda memory: COLUMN.bind_unpack(np.ones(4), memory),
}


@pytest.mark.parametrize("kind", [np.ndarray, Sub])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("way", WAYS)
def test_an_array_is_not_moved_while_a_call_is_bound_to_it(way: str, view: str, kind: type) -> None:
    if view == "read-only" and way in ("bind out", "bind_unpack"):
        pytest.skip("is not written")
    owner = np.ndarray.__new__(kind, 8)
    owner[:] = 1
    bound = WAYS[way](VIEWS[view](owner))
    with pytest.raises(ValueError, match="cannot resize"):
        owner.resize(LARGE, refcheck=False)
    bound()
    del bound
    gc.collect()
    owner.resize(LARGE, refcheck=False)
    assert len(owner) == LARGE


@pytest.mark.parametrize("make", [
    lambda: bytearray(64), lambda: array.array("d", [0] * 8), lambda: mmap.mmap(-1, 64),
])  # fmt: skip
@pytest.mark.parametrize("way", WAYS)
def test_other_memory_is_not_moved_either(way: str, make: Callable[[], Any]) -> None:
    memory = make()
    bound = WAYS[way](memory)
    grow = memory.close if isinstance(memory, mmap.mmap) else lambda: memory.extend(memory[:])
    with pytest.raises(BufferError):
        grow()
    bound()
    del bound
    gc.collect()
    grow()


@pytest.mark.parametrize("copied", [
    copy.copy, copy.deepcopy, lambda packer: pickle.loads(pickle.dumps(packer)),
], ids=["copy", "deepcopy", "pickle"])  # fmt: skip
def test_a_copy_of_a_packer_outlives_it(copied: Callable[[Packer], Packer]) -> None:
    packer = Packer(COLUMN.canonical, (0, 64), (0, 56), 2)
    other = copied(packer)
    assert other.table_address == other._table.ctypes.data
    assert repr(other) == repr(packer) and other.threads == 2 and (other.lb, other.extent) == (0, 64)
    del packer
    gc.collect()
    assert other.pack(np.arange(8.0)).view(float).tolist() == [0, 2, 4, 6]
