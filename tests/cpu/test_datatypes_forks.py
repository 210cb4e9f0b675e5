"""Packers with threads in forked processes: the same bytes from one thread, and calls that return."""

from __future__ import annotations

import json
import subprocess
import sys

SETTINGS = """
import json, os, signal, sys
import numpy as np
from kernelwright.workloads.datatypes import Packer
from kernelwright.workloads.datatypes.canonical import canonicalize
from kernelwright.workloads.datatypes.threads import usable
from kernelwright.workloads.datatypes.tree import Block, Repeat

form = canonicalize(Repeat(4096, 1024, Block(512)))
packer = Packer(form, (0, 4096 * 1024), (0, 4095 * 1024 + 512), 3)
memory = np.random.default_rng(0).integers(0, 256, 4096 * 1024, dtype=np.uint8)
left, wanted = np.zeros_like(memory), memory.reshape(4096, 1024)[:, :512].tobytes()

def in_child(work):
    "What work returns in a forked process; None where it does not return."
    reader, writer = os.pipe()
    if child := os.fork():
        os.close(writer)
        said = os.read(reader, 1000)
        os.waitpid(child, 0)
        return json.loads(said) if said else None
    signal.alarm(20)
    os.write(writer, json.dumps(work()).encode())
    os._exit(0)

def calls(gather, scatter):
    packed = packer.pack(memory)
    packer.unpack(packed, left)
    right = packed.tobytes() == packer.bind(memory)().tobytes() == gather().tobytes() == wanted
    scatter()
    return [usable(3), usable(1), right and left.reshape(4096, 1024)[:, :512].tobytes() == wanted]
"""


def said(script: str) -> object:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SETTINGS + script], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_every_call_returns_in_a_process_forked_after_threads_were_used() -> None:
    script = """
bound = packer.bind(memory), packer.bind_unpack(wanted, left)
print(json.dumps([calls(*bound), in_child(lambda: calls(*bound)),
                  in_child(lambda: in_child(lambda: calls(*bound))), calls(*bound)]))
"""
    parent, child = [3, 1, True], [1, 1, True]
    assert said(script) == [parent, child, child, parent]


def test_a_process_forked_before_has_threads_of_its_own() -> None:
    script = """
print(json.dumps([in_child(lambda: calls(packer.bind(memory), packer.bind_unpack(wanted, left)))]))
"""
    assert said(script) == [[3, 1, True]]
