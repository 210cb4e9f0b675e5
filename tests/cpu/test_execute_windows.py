"""What windows of calls are made of: packed arguments, descriptors by post, replies that are not believed."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kernelwright.core.errors import EnvironmentFault, UsageError
from kernelwright.core.kernel import Kernel, Proposer, Source
from kernelwright.execute.packing import Packing
from kernelwright.execute.post import Post
from kernelwright.execute.processes import OnDevice
from kernelwright.execute.replies import window_places
from kernelwright.execute.reports import CandidateFailed
from kernelwright.execute.workers import Workers

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.float64]


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Any type, up to four dimensions, in any order of memory, some repeated without memory."""
    shape = draw(st.lists(st.integers(0, 5), max_size=4))
    base = torch.randn(shape).mul(9).to(draw(st.sampled_from(DTYPES)))
    turned = base.permute(draw(st.permutations(range(base.dim()))))
    return turned.unsqueeze(0).expand(3, *turned.shape) if draw(st.booleans()) else turned


@given(
    st.lists(tensors() | st.floats(allow_nan=False) | st.none(), min_size=1, max_size=4), st.integers(1, 3)
)
def test_arguments_in_a_parcel_lie_as_those_they_were_packed_like(values: list[Any], calls: int) -> None:
    packing = Packing.of(values)
    flat = torch.zeros(max(packing.nbytes * calls, 1), dtype=torch.uint8)
    sets = [packing.views(flat, number) for number in range(calls)]
    for found in sets:
        for value, view in zip(values, found, strict=True):
            if not isinstance(value, Tensor):
                assert view == value
                continue
            assert (view.dtype, view.shape, view.stride()) == (value.dtype, value.shape, value.stride())
            assert view.numel() == 0 or view.data_ptr() % 64 == flat.data_ptr() % 64


@given(st.lists(tensors(), min_size=1, max_size=4), st.integers(2, 3))
def test_no_two_tensors_of_a_parcel_share_a_byte(values: list[Tensor], calls: int) -> None:
    packing = Packing.of(values)
    flat = torch.zeros(max(packing.nbytes * calls, 1), dtype=torch.uint8)
    covered = torch.zeros(flat.numel(), dtype=torch.int32)
    for number in range(calls):
        for view in packing.views(flat, number):
            if view.numel():
                first = view.data_ptr() - flat.data_ptr()
                steps = sum((size - 1) * step for size, step in zip(view.shape, view.stride(), strict=True))
                covered[first : first + (steps + 1) * view.element_size()] += 1
    assert int(covered.max()) <= 1


@pytest.fixture
def post() -> Iterator[Post]:
    made = Post()
    yield made
    made.close()


def received(post: Post) -> int:
    """What the worker at the other end takes next."""
    with socket.socket(fileno=os.dup(post.theirs)) as end:
        return socket.recv_fds(end, 1, 1)[1][0]


def test_a_descriptor_that_was_never_taken_does_not_come_in_the_place_of_a_later_one(post: Post) -> None:
    first, second = (os.open(path, os.O_RDONLY) for path in ("/dev/null", "/dev/zero"))
    for _ in range(20):
        post.send(first)
    post.send(second)
    found = received(post)
    assert os.fstat(found).st_rdev == os.fstat(second).st_rdev
    for each in (first, second, found):
        os.close(each)


def test_a_worker_that_closed_its_end_for_sending_refuses_by_an_error(post: Post) -> None:
    with socket.socket(fileno=os.dup(post.theirs)) as end:
        end.shutdown(socket.SHUT_RDWR)
        null = os.open("/dev/null", os.O_RDONLY)
        with pytest.raises(OSError):
            post.send(null)
        os.close(null)


def test_a_message_without_a_descriptor_is_a_fault_of_the_machine(post: Post) -> None:
    with socket.socket(fileno=os.dup(post.theirs)) as end:
        end.send(b"p")
        with pytest.raises(EnvironmentFault, match="no descriptor"):
            post.receive()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(ANYTHING)
def test_places_that_are_none_are_a_failure_of_the_candidate(said: Any) -> None:
    try:
        found = window_places({"places": said})
    except CandidateFailed:
        return
    assert all(len(place) == 3 and set(place[0]) <= set("0123456789abcdef") for place in found)


def test_a_place_is_a_handle_and_two_numbers() -> None:
    assert window_places({"places": [["ab" * 64, 0, 12], ["", 0, 0]]}) == [["ab" * 64, 0, 12], ["", 0, 0]]
    for wrong in (["AB" * 64, 0, 12], ["ab" * 63, 0, 12], ["ab" * 64, 0.5, 12], ["ab" * 64, 0]):
        with pytest.raises(CandidateFailed):
            window_places({"places": [wrong]})


def test_a_process_that_is_not_confined_takes_no_kernel_that_brings_python() -> None:
    workers = Workers.__new__(Workers)
    workers.processes = OnDevice()
    source = Source(path="kernel.py", text="class ModelNew: ...")
    kernel = Kernel(
        name="own", problem="0" * 32, language="python", sources=(source,), proposer=Proposer(name="test")
    )
    with pytest.raises(UsageError, match="brings_python=True"):
        workers.admits(kernel)
