"""Where the elements of a row are kept between passes: registers, shared memory, or nowhere.

Every thread keeps only what it will read again itself, so no barrier guards the data. Shared memory
is filled in the background, without registers, in groups of steps: a pass begins when the first group
has come. Where rows follow each other it is a ring: what a group of steps has read and stored makes
room for elements further on, of this or of a later row, so that loads and stores are always under way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kernelwright.core.dtypes import ITEM_BYTES
from kernelwright.graph.loops import Load
from kernelwright.propose.templates.cuda.folds import Schedule
from kernelwright.propose.templates.cuda.loops import Loop

HoldKind = Literal["registers", "shared", "reload"]
HOLDS: tuple[HoldKind, ...] = ("registers", "shared", "reload")
SHARED_BYTES = 227 * 1024
"""Most that a block may have on sm_90, static and dynamic together."""
SYSTEM_BYTES = 1024
"""Taken by the device for each block beside that."""
RESERVED_BYTES = 8 * 1024
"""Left for the slots of reductions."""
REGISTERS = 64 * 1024
"""Of a multiprocessor, 4 bytes each."""
_MOST_WAITS = 31
"""Groups of copies that a wait tells apart."""


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


def loaded_late(schedule: Schedule) -> list[int]:
    """Load nodes that only the stores need and that differ along the innermost dimension, as weights do."""
    held, inner = reused(schedule), len(schedule.region.dims) - 1
    found = schedule.loads_in(schedule.region.stores[at].value for at in schedule.full_stores)
    accesses = {at: node.access for at in found if isinstance(node := schedule.region.nodes[at], Load)}
    return [at for at, access in accesses.items() if at not in held and access.strides[inner] != 0]


def element_bytes(schedule: Schedule, nodes: list[int]) -> int:
    """Bytes that one element takes in all of `nodes` together."""
    loads = [schedule.region.nodes[at] for at in nodes]
    return sum(ITEM_BYTES[node.dtype] for node in loads if isinstance(node, Load))


@dataclass(frozen=True)
class Hold:
    """What is held, by which means; text uses the loop's `i` and `u`, and `base`, the slot of step 0."""

    kind: HoldKind
    nodes: tuple[int, ...]
    steps: int
    """Steps of a row."""
    unroll: int
    """Steps of a group; those of a row and the slots are multiples of it."""
    threads: int
    slots: int
    """Steps that there is room for: more than those of a row in a ring."""
    shared: str
    """Name of the dynamic shared memory."""

    @classmethod
    def fitting(
        cls, wanted: str, loop: Loop, nodes: list[int], threads: int, shared: str,
        rows: int = 1, reserved: int = RESERVED_BYTES, places: int = 1,
    ) -> Hold:  # fmt: skip
        """The nearest to `wanted` that fits where `places` blocks share a multiprocessor, with room for up
        to `rows` rows."""
        each = sum(_load_bytes(loop, at) for at in nodes)
        steps, unroll = int(loop.steps), loop.unroll
        room = (SHARED_BYTES + SYSTEM_BYTES - reserved) // places - SYSTEM_BYTES
        most = room // max(1, each * threads)
        kind: HoldKind = "reload"
        if each and wanted == "registers" and steps * each // 4 <= min(REGISTERS // threads - 20, 160):
            kind = "registers"
        elif each and wanted != "reload" and steps <= most:
            kind = "shared"
        slots = min(rows * steps, most // unroll * unroll) if kind == "shared" else steps
        return cls(kind, () if kind == "reload" else tuple(nodes), steps, unroll, threads, slots, shared)

    def shared_bytes(self, loop: Loop) -> int:
        """Dynamic shared memory of a block."""
        return sum(self._bytes(loop, at) for at in self.nodes) if self.kind == "shared" else 0

    def _bytes(self, loop: Loop, at: int) -> int:
        return _load_bytes(loop, at) * self.slots * self.threads

    def declarations(self, loop: Loop) -> list[str]:
        """Arrays, or pointers into shared memory; wider vectors first, so that all are aligned."""
        if self.kind == "registers":
            return [f"{loop.vector_type(_load(loop, at))} h{at}[{self.steps}];" for at in self.nodes]
        if self.kind != "shared":
            return []
        lines, start = [f"extern __shared__ __align__(16) unsigned char {self.shared}[];"], 0
        for at in sorted(self.nodes, key=lambda at: -self._bytes(loop, at)):
            kind = loop.vector_type(_load(loop, at))
            lines.append(
                f"{kind}* const h{at} = reinterpret_cast<{kind}*>({self.shared} + {start}) + threadIdx.x;"
            )
            start += self._bytes(loop, at)
        return lines

    def fill(self, loop: Loop) -> list[str]:
        """Bring one row in; `loop` says where its elements lie."""
        if self.kind == "reload":
            return []
        if self.kind == "registers":
            lines = loop.each_step(
                [f"h{at}[i + u] = {loop.guarded_load(_load(loop, at))};" for at in self.nodes]
            )
        else:
            lines = [*self.copies(loop, "i"), "kw_copy_commit();"]
        return [f"#pragma unroll\nfor (int i = 0; i < {self.steps}; i += {self.unroll}) {{", *lines, "}"]

    def copies(self, loop: Loop, slot: str) -> list[str]:
        """Begin the copies of the group of steps at `i` into `slot` and those behind it."""
        copies = [
            loop.copy_text(_load(loop, at), f"h{at} + ({slot} + u) * {self.threads}") for at in self.nodes
        ]
        return loop.each_step([f"if ({loop.ok}) {copy}" if loop.ok else copy for copy in copies])

    @property
    def wraps(self) -> bool:
        """Whether a row's first slot differs from row to row."""
        return self.slots % self.steps != 0 or self.slots > self.steps

    @property
    def prelude(self) -> list[str]:
        """Statements of a group that find its slot."""
        if self.kind != "shared" or not self.wraps:
            return []
        return [f"const int s = base + i < {self.slots} ? base + i : base + i - {self.slots};"]

    @property
    def slot(self) -> str:
        """First slot of the group at `i`."""
        return "s" if self.wraps else "i"

    @property
    def wait(self) -> list[str]:
        """Wait for the group at `i`, in the first pass over a row: only groups behind it may be missing."""
        if self.kind != "shared":
            return []
        behind = self.slots // self.unroll - 1
        return [f"kw_copy_wait_for<0, {min(behind, _MOST_WAITS)}>({behind} - i / {self.unroll});"]

    def text(self) -> dict[int, str]:
        """Held vectors as the passes name them."""
        if self.kind == "registers":
            return {at: f"h{at}[i + u]" for at in self.nodes}
        return {at: f"h{at}[({self.slot} + u) * {self.threads}]" for at in self.nodes}


def _load(loop: Loop, at: int) -> Load:
    node = loop.region.nodes[at]
    assert isinstance(node, Load)
    return node


def _load_bytes(loop: Loop, at: int) -> int:
    """Bytes of one step."""
    return ITEM_BYTES[_load(loop, at).dtype] * loop.vector


def holdable(schedule: Schedule, loop: Loop) -> list[int]:
    """Loads worth holding whose steps are whole vectors."""
    return [at for at in reused(schedule) if loop.width(_load(loop, at).access) == loop.vector]
