"""Where the elements of a row are kept between passes: registers, shared memory, or nowhere.

Every thread keeps only what it will read again itself, so no barrier guards the data. Shared memory
is filled in the background, without registers, and may hold two rows: the next one arrives while
this one is worked on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from kernelwright.core.dtypes import ITEM_BYTES
from kernelwright.graph.loops import Load
from kernelwright.propose.templates.cuda_emit import STORED
from kernelwright.propose.templates.cuda_folds import Schedule
from kernelwright.propose.templates.cuda_loops import Loop

HoldKind = Literal["registers", "shared", "reload"]
HOLDS: tuple[HoldKind, ...] = ("registers", "shared", "reload")
SHARED_BYTES = 227 * 1024
"""Most that a block may have on sm_90, static and dynamic together."""
RESERVED_BYTES = 8 * 1024
"""Left for the slots of reductions."""
REGISTERS = 64 * 1024
"""Of a multiprocessor, 4 bytes each."""


def reused(schedule: Schedule) -> list[int]:
    """Full load nodes that more than one pass reads."""
    region = schedule.region
    rounds = [[fold.arg for fold in folds] for folds in schedule.passes]
    rounds.append([region.stores[at].value for at in schedule.full_stores])
    reads = [set(schedule.loads_in(targets)) for targets in rounds]
    return [
        at
        for at, node in enumerate(region.nodes)
        if isinstance(node, Load) and region.full[at] and sum(at in read for read in reads) > 1
    ]


def element_bytes(schedule: Schedule, nodes: list[int]) -> int:
    """Bytes that one element takes in all of `nodes` together."""
    loads = [schedule.region.nodes[at] for at in nodes]
    return sum(ITEM_BYTES[node.dtype] for node in loads if isinstance(node, Load))


def settle(
    wanted: str, held_bytes: int, threads: int, stages: int, reserved: int = RESERVED_BYTES
) -> tuple[HoldKind, int]:
    """The nearest hold that fits `held_bytes` per thread, and its stages (rows at a time)."""
    if wanted == "registers" and held_bytes // 4 <= min(REGISTERS // threads - 20, 160):
        return "registers", 1
    room = SHARED_BYTES - reserved
    if wanted != "reload" and held_bytes * threads <= room:
        return "shared", stages if held_bytes * threads * stages <= room else 1
    return "reload", 1


@dataclass(frozen=True)
class Hold:
    """What is held, by which means; text uses the loop's `i` and `u`."""

    kind: HoldKind
    nodes: tuple[int, ...]
    steps: int
    threads: int
    stages: int
    shared: str
    """Name of the dynamic shared memory."""

    def shared_bytes(self, loop: Loop) -> int:
        """Dynamic shared memory of a block."""
        if self.kind != "shared":
            return 0
        return sum(self._bytes(loop, at) for at in self.nodes)

    def _bytes(self, loop: Loop, at: int) -> int:
        node = loop.region.nodes[at]
        assert isinstance(node, Load)
        return ITEM_BYTES[node.dtype] * loop.vector * self.steps * self.threads * self.stages

    def declarations(self, loop: Loop) -> list[str]:
        """Arrays, or pointers into shared memory; wider vectors first, so that all are aligned."""
        if self.kind == "registers":
            return [f"{loop.vector_type(self._load(loop, at))} h{at}[{self.steps}];" for at in self.nodes]
        if self.kind != "shared" or not self.nodes:
            return []
        lines, start = [f"extern __shared__ __align__(16) unsigned char {self.shared}[];"], 0
        for at in sorted(self.nodes, key=lambda at: -self._bytes(loop, at)):
            kind = loop.vector_type(self._load(loop, at))
            lines.append(
                f"{kind}* const h{at} = reinterpret_cast<{kind}*>({self.shared} + {start}) + threadIdx.x;"
            )
            start += self._bytes(loop, at)
        return lines

    def _load(self, loop: Loop, at: int) -> Load:
        node = loop.region.nodes[at]
        assert isinstance(node, Load)
        return node

    def fill(self, loop: Loop, stage: str) -> list[str]:
        """Bring a row in; `loop` says where its elements lie."""
        if self.kind == "reload" or not self.nodes:
            return []
        whole = replace(loop, unroll=self.steps)
        inside = [self._fill_one(whole, at, stage) for at in self.nodes]
        lines = ["{", "const int i = 0;", *whole.each_step(inside), "}"]
        return [*lines, "kw_copy_commit();"] if self.kind == "shared" else lines

    def _fill_one(self, loop: Loop, at: int, stage: str) -> str:
        node = self._load(loop, at)
        if self.kind == "registers":
            return f"h{at}[u] = {loop.guarded_load(node)};"
        slot = f"h{at} + ({self._slot(stage, 'u')}) * {self.threads}"
        copy = f"kw_copy_async<{STORED[node.dtype]}, {loop.vector}>({slot}, {loop.address(node.access)});"
        return f"if ({loop.ok}) {copy}" if loop.ok else copy

    def _slot(self, stage: str, step: str) -> str:
        return step if self.stages == 1 else f"{stage} * {self.steps} + {step}"

    def text(self, stage: str) -> dict[int, str]:
        """Held vectors as the passes name them."""
        if self.kind == "reload":
            return {}
        if self.kind == "registers":
            return {at: f"h{at}[i + u]" for at in self.nodes}
        return {at: f"h{at}[({self._slot(stage, '(i + u)')}) * {self.threads}]" for at in self.nodes}
