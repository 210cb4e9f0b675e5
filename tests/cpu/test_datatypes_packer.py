"""Buffers and arguments of packers: what is taken, and what is refused in a line with nothing written."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest
import torch

from kernelwright.core.errors import UsageError
from kernelwright.workloads.datatypes import Packer
from kernelwright.workloads.datatypes.canonical import canonicalize
from kernelwright.workloads.datatypes.tree import Block, Node, Repeat, Shift


def packer_of(tree: Node, extent: int) -> Packer:
    form = canonicalize(tree)
    low, high = form.span()
    return Packer(form, (0, extent), (low, high - low))


COLUMN = packer_of(Repeat(3, 32, Block(8)), 96)
"""The first column of three rows of four doubles."""


def refused(call: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_containers() -> None:
    rows = np.arange(12.0).reshape(3, 4)
    wanted = rows[:, 0].tobytes()
    raw = rows.tobytes()
    for buffer in (rows, raw, bytearray(raw), memoryview(raw), array.array("d", rows.reshape(-1)),
                   torch.from_numpy(rows), np.asfortranarray(rows.T).T, rows.view(np.int32)):  # fmt: skip
        assert COLUMN.pack(buffer).tobytes() == wanted
    for out in (bytearray(24), np.zeros(3), torch.zeros(6), torch.zeros(12, dtype=torch.bfloat16)):
        assert COLUMN.pack(rows, 1, out) is out
        left = np.zeros((3, 4))
        COLUMN.unpack(out, left)
        assert left[:, 0].tobytes() == wanted and not left[:, 1:].any()
    tensor = torch.zeros(3, 4, dtype=torch.float64)
    COLUMN.unpack(wanted, tensor)
    np.testing.assert_array_equal(tensor.numpy()[:, 0], rows[:, 0])


def test_bound_calls_copy_what_is_there_then() -> None:
    rows, left = np.zeros((3, 4)), np.zeros((3, 4))
    gather = COLUMN.bind(rows)
    scatter = COLUMN.bind_unpack(gather.out, left)
    rows[:, 0] = 1, 2, 3
    assert gather() is gather.out and gather.out.view(float).tolist() == [1, 2, 3]
    assert scatter() is None and left[:, 0].tolist() == [1, 2, 3] and not left[:, 1:].any()
    rows[:, 0] = 4, 5, 6
    assert gather().view(float).tolist() == [4, 5, 6]
    alone = COLUMN.bind(np.full((3, 4), 7.0))  # whose buffer nobody else keeps
    assert alone().view(float).tolist() == [7, 7, 7]
    refused(lambda: COLUMN.bind(rows, 2), "of a buffer that has 96")
    refused(lambda: COLUMN.bind_unpack(gather.out, rows, 2), "packed has 24")


def test_count_and_origin() -> None:
    shifted = packer_of(Shift(-4, Block(4)), 8)
    memory = np.arange(32, dtype=np.uint8)
    assert shifted.pack(memory, 2, origin=4).tolist() == [0, 1, 2, 3, 8, 9, 10, 11]
    assert shifted.pack(memory, np.int64(1), origin=np.int8(8)).tolist() == [4, 5, 6, 7]
    assert shifted.pack(memory, 0).tolist() == [] and shifted.pack(b"", 0).tolist() == []
    refused(lambda: shifted.pack(memory, 1), "from -4 to 0 of a buffer that has 32; .*origin")


@pytest.mark.parametrize("count", [-1, 1.0, "1", None, True, 2**63, 2**200, float("nan"), np.float64(1), [1]])
def test_counts_that_are_none(count: Any) -> None:
    memory, out = np.zeros(96, np.uint8), np.zeros(24, np.uint8)
    refused(lambda: COLUMN.pack(memory, count, out), "count is .*; give a whole number")
    refused(lambda: COLUMN.unpack(out, memory, count), "count is .*; give a whole number")
    if count is not True:
        refused(lambda: COLUMN.pack(memory, 1, out, origin=[count]), "origin is")


@pytest.mark.parametrize("count", [2, 2**31, 2**40, 2**62])
def test_more_than_a_buffer_holds(count: int) -> None:
    memory, out = np.ones(96, np.uint8), np.zeros(24, np.uint8)
    refused(lambda: COLUMN.pack(memory, count, out), "of a buffer that has 96")
    refused(lambda: COLUMN.pack(memory[:71], 1, out), "from 0 to 72 of a buffer that has 71")
    refused(lambda: COLUMN.unpack(out, memory, count), "packed has 24; give")
    refused(lambda: COLUMN.unpack(out, memory[:71]), "of a buffer that has 71")
    refused(lambda: COLUMN.pack(memory, 1, out[:23]), "out has 23; give 24 bytes")
    for origin in (-1, 25, 2**62, -(2**62)):
        refused(lambda origin=origin: COLUMN.pack(memory, 1, out, origin=origin), "of a buffer that has 96")
    assert not out.any() and memory.all()


def test_buffers_that_are_none() -> None:
    memory, out = np.ones((3, 4)), np.zeros(24, np.uint8)
    grad = torch.ones(3, 4, dtype=torch.float64, requires_grad=True)
    for given, words in (
        (None, "no memory"), ([1.0, 2.0], "no memory"), ("text", "no memory"), (3, "no memory"),
        (memory[:, ::2], "has gaps"), (np.array([None] * 12), "Python objects"),
        (torch.ones(4, 3).T, "gaps"), (torch.ones(3, 4, device="meta"), "on meta"),
    ):  # fmt: skip
        refused(lambda given=given: COLUMN.pack(given, 1, out), f"the buffer .*{words}")
        refused(lambda given=given: COLUMN.unpack(out, given), f"the buffer .*{words}")
        refused(lambda given=given: COLUMN.unpack(given, memory), f"packed .*{words}")
    for sealed in (bytes(24), memoryview(bytes(24)), np.frombuffer(bytes(24), np.uint8)):
        refused(lambda sealed=sealed: COLUMN.pack(memory, 1, sealed), "out cannot be written")
    refused(lambda: COLUMN.unpack(out, bytes(96)), "the buffer cannot be written")
    assert COLUMN.pack(grad).tobytes() == np.ones(3).tobytes()
    assert not out.any()


def test_memory_that_is_both_ends() -> None:
    arena = bytearray(range(120))
    before = bytes(arena)
    view = memoryview(arena)
    refused(lambda: COLUMN.pack(arena, 1, arena), "shares memory")
    refused(lambda: COLUMN.pack(view[:96], 1, view[90:]), "shares memory")
    refused(lambda: COLUMN.unpack(view[90:], view[:96]), "shares memory")
    assert bytes(arena) == before
    COLUMN.pack(view[:96], 1, view[96:])


def test_overlapping_blocks_are_packed_and_not_unpacked() -> None:
    twice = packer_of(Repeat(2, 4, Block(8)), 16)
    memory = np.arange(16, dtype=np.uint8)
    assert twice.pack(memory).tolist() == [*range(8), *range(4, 12)]
    refused(lambda: twice.unpack(bytes(16), memory), "blocks of 1 elements of the datatype overlap")
    near = packer_of(Block(8), 4)
    near.unpack(bytes(8), memory[:8], 1)
    refused(lambda: near.unpack(bytes(16), memory, 2), "blocks of 2 elements")
    assert memory[8:].tolist() == [*range(8, 16)]


def test_shown() -> None:
    assert repr(COLUMN) == "Packer(24 bytes in 72; 3 x every 32: 8 bytes at 0)"
