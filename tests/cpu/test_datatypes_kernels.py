"""The kernels against the reference: every size of block, any form, guards around and between, threads."""

from __future__ import annotations

import ctypes
import mmap
import threading

import numpy as np
import pytest
from datatypes_trees import TREES, blocks
from hypothesis import given, settings

from kernelwright.core.errors import UsageError
from kernelwright.workloads.datatypes import Packer, reference
from kernelwright.workloads.datatypes.canonical import canonicalize
from kernelwright.workloads.datatypes.kernels import pack_kernel, unpack_kernel
from kernelwright.workloads.datatypes.overlap import disjoint
from kernelwright.workloads.datatypes.table import MOST_LEVELS, table_of
from kernelwright.workloads.datatypes.tree import Block, Node, Repeat, Sequence, Shift

GUARD = 80
SIZES = [*range(1, 132), *range(191, 194), *range(255, 258), *range(510, 515), 1000, 4095, 4096, 4097, 9000]


def packer_of(tree: Node, extent: int, threads: int = 1) -> Packer:
    form = canonicalize(tree)
    low, high = form.span()
    return Packer(form, (0, extent), (low, high - low), threads)


def agrees(tree: Node, count: int, extent: int, threads: int = 1) -> None:
    """Packs and unpacks as the reference does, with all other bytes left alone; refuses what overlaps."""
    packer = packer_of(tree, extent, threads)
    low, high = packer.canonical.span()
    steps = (count - 1) * extent if count else 0
    origin, length = GUARD - low - min(steps, 0), high - low + abs(steps) + 2 * GUARD
    memory = np.random.default_rng(length).integers(0, 256, length, dtype=np.uint8)
    wanted = reference.pack(tree, memory.tobytes(), origin, count, extent)
    packed = packer.pack(memory, count, origin=origin)
    assert packed.tobytes() == wanted
    out = np.full(len(wanted) + GUARD, 0x5A, np.uint8)
    assert packer.pack(memory, count, out, origin=origin) is out
    assert out.tobytes() == wanted + b"\x5a" * GUARD
    if not disjoint(packer.canonical, count, extent):
        with pytest.raises(UsageError, match="overlap"):
            packer.unpack(packed, memory, count, origin=origin)
        return
    left, expected = np.full(length, 0xA5, np.uint8), bytearray(b"\xa5" * length)
    packer.unpack(packed, left, count, origin=origin)
    reference.unpack(tree, wanted, expected, origin, count, extent)
    assert left.tobytes() == bytes(expected)


def test_both_say_that_they_were_written_by_hand() -> None:
    for kernel in (pack_kernel(), unpack_kernel()):
        assert kernel.proposer.name == "by hand" and kernel.trust == "sealed"


@pytest.mark.parametrize("offset", [0, 1, 13])
def test_every_size_of_block(offset: int) -> None:
    for size in SIZES:
        for pitch in (size + 1, size + 5, size + 64, 2 * size, 3 * size, 4 * size):
            agrees(Shift(offset, Repeat(3, pitch, Block(size))), 1, 3 * pitch)
        agrees(Repeat(70, 2 * size, Block(size)), 2, 150 * size)
        agrees(blocks((offset, size), (3 * size + 7, size), (size + 20, size)), 2, 5 * size + 9)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 16, 24, 33, 64, 65, 100, 200, 512])
def test_nothing_is_read_or_written_beyond_the_last_block(size: int) -> None:
    """The last block ends where memory ends: the next page may not be touched."""
    page, end = mmap.PAGESIZE, 16 * mmap.PAGESIZE
    whole = np.frombuffer(mmap.mmap(-1, end + page), np.uint8)
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(whole.ctypes.data + end), page, 0) == 0
    for count in (1, 2, 5, 21):
        for pitch in (size, 2 * size, 3 * size, 4 * size, size + 1):
            length = (count - 1) * pitch + size
            memory = whole[end - length : end]
            memory[:] = np.random.default_rng(size).integers(0, 256, length, dtype=np.uint8)
            tree = Repeat(count, pitch, Block(size))
            packed = packer_of(tree, 0).pack(memory)
            assert packed.tobytes() == reference.pack(tree, memory.tobytes())
            memory[:] = 0
            packer_of(tree, 0).unpack(packed, memory)
            assert reference.pack(tree, memory.tobytes()) == packed.tobytes()


@pytest.mark.parametrize("size", [1, 4, 7, 8, 16, 24, 32, 33])
def test_rows_nearer_than_their_blocks(size: int) -> None:
    """As in a transpose, where the kernel goes by squares; also backwards, and with threads."""
    for rows, columns, pitch in ((4, 16, 64), (17, 33, 1024), (40, 50, 1100), (3, 40, 900), (20, 15, 900)):
        for near in (size, size + 3, -size):
            tree = Repeat(rows, near, Repeat(columns, pitch, Block(size)))
            agrees(tree, 1, 0)
            agrees(Repeat(columns, pitch, Block(size)), rows, near)
            agrees(Repeat(2, columns * pitch + 999, tree), 2, columns * pitch * 3)


def test_lists_whose_sizes_have_a_common_part() -> None:
    """They are packed in equal parts, where that makes few; the form shows them joined."""
    for part in (1, 2, 4, 6, 8, 16, 100):
        for sizes in ([part, 2 * part, part, 3 * part, part], [part, 40 * part, part], [part * 2, part * 3]):
            given = [(3 + k * 50 * part, size) for k, size in enumerate(sizes)]
            agrees(blocks(*given), 3, 251 * part)
            table = table_of(canonicalize(blocks(*given)), 0)
            even = part >= 4 and sum(sizes) <= 4 * part * len(sizes)
            assert table[1:3].tolist() == ([sum(sizes) // part, part] if even else [len(sizes), 0])


def test_blocks_of_many_sizes() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        sizes = rng.permutation(SIZES)[:20].tolist()
        starts = np.cumsum([0, *sizes[:-1]]) + np.arange(20) * 3
        mixed = blocks(*zip(rng.permutation(starts).tolist(), [1] * 20, strict=True))
        agrees(blocks(*zip(starts.tolist(), sizes, strict=True)), 2, int(starts[-1]) + sizes[-1])
        agrees(mixed, 3, int(starts[-1]) + 1)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(TREES)
def test_any_form(tree: Node) -> None:
    low, high = canonicalize(tree).span()
    for count, extent in ((1, 0), (0, 5), (2, high - low), (3, high - low + 3), (4, -9), (3, 4)):
        agrees(tree, count, extent)


@pytest.mark.parametrize("depth", [3, 4, 6])
def test_many_levels(depth: int) -> None:
    tree, pitch = Block(3), 5
    for level in range(depth):
        tree, pitch = Repeat(2 + level % 2, pitch if level else 5, tree), pitch * 4 + 1
    for count in (1, 2):
        agrees(tree, count, pitch)
        agrees(Sequence((tree, Shift(1_000_000, Block(7)))), count, 1_000_100)


def test_elements_that_meet_are_one_level() -> None:
    """Extent equal to the outermost level's reach, and one that is not."""
    for extent in (6 * 40, 6 * 40 + 1, 40, 3):
        agrees(Repeat(6, 40, Block(4)), 5, extent)
        agrees(Block(16), 5, extent)


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_threads_share_large_messages(threads: int) -> None:
    for tree, count, extent in (
        (Repeat(70_000, 40, Block(17)), 1, 0),
        (Repeat(3, 8_000_000, Repeat(60_000, 30, Block(7))), 1, 0),
        (blocks((0, 8), (20, 4), (40, 12)), 60_000, 64),
        (Block(1 << 20), 2, (1 << 20) + 1),
        (Repeat(5, 1_000_003, Block(1_000_000)), 1, 0),
    ):
        packer, alone = packer_of(tree, extent, threads), packer_of(tree, extent)
        low, high = packer.canonical.span()
        memory = np.random.default_rng(3).integers(0, 256, high + (count - 1) * extent, dtype=np.uint8)
        packed = packer.pack(memory, count)
        np.testing.assert_array_equal(packed, alone.pack(memory, count))
        left, expected = np.zeros_like(memory), np.zeros_like(memory)
        packer.unpack(packed, left, count)
        alone.unpack(packed, expected, count)
        np.testing.assert_array_equal(left, expected)
        assert low == 0


def test_one_packer_serves_many_threads() -> None:
    packer = packer_of(Repeat(100, 9, Block(4)), 900)
    memories = [np.full(900, number, np.uint8) for number in range(8)]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(200):
            if (packer.pack(memories[number]) != number).any():
                wrong.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_memory_beyond_four_gigabytes() -> None:
    """Strides and offsets are 64 bits wide; the pages between are never touched."""
    far = 5 << 30
    memory = np.empty(far + 16, np.uint8)
    memory[:4], memory[far : far + 4] = 7, 9
    packer = packer_of(Repeat(2, far, Block(4)), 0)
    assert packer.pack(memory).tolist() == [7] * 4 + [9] * 4
    packer.unpack(np.arange(8, dtype=np.uint8), memory)
    assert memory[:4].tolist() == [0, 1, 2, 3] and memory[far : far + 4].tolist() == [4, 5, 6, 7]


def test_more_levels_than_are_counted_are_refused() -> None:
    tree: Node = Block(1)
    for level in range(MOST_LEVELS + 1):
        tree = Repeat(2, 3**level * 2, tree)
    with pytest.raises(UsageError, match="32 levels"):
        table_of(canonicalize(tree), 0)
