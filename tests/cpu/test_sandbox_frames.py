"""Frames survive any splitting; the filter means what its rules say; call numbers are the kernel's."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import struct
import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.sandbox import seccomp, syscall_table
from kernelwright.sandbox.frames import Channel, ChannelClosed, ProtocolError, decode, encode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    assert decode(encode(value)) == value


@given(st.binary())
def test_any_bytes_decode_or_are_a_protocol_error(payload: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        decode(payload)


@given(st.integers(0, 2**32 - 1), st.binary(max_size=5000), st.lists(st.integers(1, 700), max_size=12))
def test_a_frame_arrives_whole_however_it_is_cut(number: int, payload: bytes, cuts: list[int]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        frame = struct.pack("<II", len(payload), number) + payload

        def send() -> None:
            start = 0
            for cut in cuts:
                theirs.sendall(frame[start : start + cut])
                start += cut
            theirs.sendall(frame[start:])

        sender = threading.Thread(target=send)
        sender.start()
        assert Channel(ours, 5000).receive(5.0) == (number, payload)
        sender.join()


@given(st.binary(max_size=200))
def test_any_bytes_and_then_the_end_are_a_frame_or_an_error(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.sendall(data)
        theirs.close()
        try:
            number, payload = Channel(ours, 100).receive(5.0)
        except (ProtocolError, ChannelClosed):
            return
        assert struct.pack("<II", len(payload), number) + payload == data


RULES = seccomp.rules(network=False, threads_only=True, own_pid=4321, parent_pid=1234, lifeline=9)
NUMBERS = {syscall_table.number(rule.call): rule for rule in RULES}
INTERESTING = [0, 1, 2, 9, 1234, 4321, 0x10000, 0x00020000, 0x003D0F00, 0x10000000, 0x80000000, 0xFFFFFFFF]


def meant(number: int, args: list[int]) -> int:
    """What the rules say, read directly."""
    rule = NUMBERS.get(number)
    if rule is None:
        return seccomp.ALLOW
    value = args[rule.arg]
    for test in rule.tests:
        if (value & test.value) if test.bits else value == test.value:
            return test.action
    return rule.otherwise


def run(program: bytes, number: int, args: list[int]) -> int:
    """A BPF machine of the five instructions that the filter uses."""
    data = struct.pack("=IIQ6Q", number, syscall_table.audit_arch() or 0, 0, *args)
    code = list(struct.iter_unpack("=HBBI", program))
    at, accumulator = 0, 0
    while True:
        op, yes, no, k = code[at]
        at += 1
        if op == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, k)
        elif op == 0x06:
            return int(k)
        else:
            holds = {0x15: accumulator == k, 0x35: accumulator >= k, 0x45: bool(accumulator & k)}[op]
            at += yes if holds else no


@pytest.mark.skipif(syscall_table.audit_arch() is None, reason="no filter for this architecture")
@given(st.integers(0, 460), st.lists(st.sampled_from(INTERESTING), min_size=6, max_size=6))
def test_the_filter_program_means_what_its_rules_say(number: int, args: list[int]) -> None:
    assert run(seccomp.program(RULES), number, args) == meant(number, args)


@pytest.mark.skipif(syscall_table.audit_arch() is None, reason="no filter for this architecture")
def test_each_rule_is_reached() -> None:
    program = seccomp.program(RULES)
    for number in filter(None, NUMBERS):
        for value in INTERESTING:
            assert run(program, number, [value] * 6) == meant(number, [value] * 6)


@pytest.mark.parametrize(("header", "column"), [("asm/unistd_64.h", 0), ("asm-generic/unistd.h", 1)])
def test_call_numbers_are_those_of_the_kernels_headers(header: str, column: int) -> None:
    if shutil.which("gcc") is None or not Path("/usr/include/asm-generic/unistd.h").exists():
        pytest.skip("no compiler or no kernel headers")
    options = ["-D__BITS_PER_LONG=64", "-D__ARCH_WANT_MEMFD_SECRET", "-D__ARCH_WANT_SYS_CLONE3"]
    done = subprocess.run(
        ["gcc", "-E", "-dM", *options, "-"], input=f"#include <{header}>", text=True, capture_output=True
    )
    if done.returncode:
        pytest.skip(f"no {header}")
    theirs = {name: int(value) for name, value in re.findall(r"__NR(?:3264)?_(\w+) (\d+)", done.stdout)}
    ours = {name: pair[column] for name, pair in syscall_table._TABLE.items()}
    known = {name for name, value in ours.items() if value is not None and name in theirs}
    assert len(known) > 50
    assert {name: ours[name] for name in known} == {name: theirs[name] for name in known}
