"""A plan with every number filled in, as `bind` makes it and the runner reads it.

Repetitions are unrolled, so a bound list is flat and `after` holds positions in that list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from kernelwright.core.dtypes import ITEM_BYTES, Dtype
from kernelwright.core.plan import Role


@dataclass(frozen=True, slots=True)
class BoundBuffer:
    """A contiguous tensor of known size."""

    name: str
    role: Role
    dtype: Dtype
    shape: tuple[int, ...]

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.numel * ITEM_BYTES[self.dtype]


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a buffer plus `offset` bytes."""

    buffer: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number passed by value: its bit pattern in the low bytes of a 64-bit word."""

    bits: int


@dataclass(frozen=True, slots=True)
class View:
    """A library argument: a buffer, seen whole or with another shape, strides and offset (elements)."""

    buffer: str
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class DtypeName:
    """A library argument that is an element type."""

    name: Dtype


@dataclass(frozen=True, slots=True)
class BoundStep:
    """What every bound step says about ordering."""

    stream: int
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BoundCall(BoundStep):
    """Call a host entry."""

    entry: str
    args: tuple[Address | Scalar, ...]


@dataclass(frozen=True, slots=True)
class BoundLaunch(BoundStep):
    """Launch a device entry; an empty grid launches nothing."""

    entry: str
    args: tuple[Address | Scalar, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int
    cooperative: bool
    programmatic: bool


@dataclass(frozen=True, slots=True)
class BoundLibrary(BoundStep):
    """Call an allow-listed library operation."""

    op: str
    inputs: tuple[Any, ...]
    """JSON values, `View`, `DtypeName` and lists of them."""
    keywords: Mapping[str, Any]
    outputs: tuple[View, ...]


@dataclass(frozen=True, slots=True)
class BoundMemset(BoundStep):
    """Fill `nbytes` of a buffer with one byte."""

    buffer: str
    nbytes: int
    byte: int


@dataclass(frozen=True, slots=True)
class BoundCopy(BoundStep):
    """Copy `nbytes` from one buffer to another."""

    source: str
    destination: str
    nbytes: int


NativeStep = BoundCall | BoundLaunch | BoundMemset | BoundCopy
AnyStep = NativeStep | BoundLibrary


@dataclass(frozen=True)
class BoundPlan:
    """A plan at one point of its axes."""

    axes: Mapping[str, int]
    buffers: Mapping[str, BoundBuffer]
    run: tuple[AnyStep, ...]
    prepare: tuple[AnyStep, ...]

    def with_role(self, *roles: Role) -> list[BoundBuffer]:
        """Buffers of these roles, in the plan's order."""
        return [buffer for buffer in self.buffers.values() if buffer.role in roles]

    @cached_property
    def host(self) -> bool:
        """Whether some step calls a host entry."""
        return any(isinstance(step, BoundCall) for step in (*self.run, *self.prepare))

    @cached_property
    def device(self) -> bool:
        """Whether some step launches a device entry."""
        return any(isinstance(step, BoundLaunch) for step in (*self.run, *self.prepare))
