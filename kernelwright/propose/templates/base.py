"""The contract of a template: a loop region and a choice become source text and plan steps.

A template says which regions it serves, what may be chosen, and emits for a choice the text of one
or more entries with the steps that call them. Files are put together by `propose.proposals`: text
that several regions share (vector types, math) is named in `Emitted.header` and put in once.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

from kernelwright.core.plan import Buffer, Step
from kernelwright.core.target import TargetName
from kernelwright.graph.loops import Region
from kernelwright.propose.space import Choice, Space


@dataclass(frozen=True, slots=True)
class Emitted:
    """What a template made of one region."""

    source: str
    """Text of the entries; every global name in it begins with the `entry` that was given."""
    steps: tuple[Step, ...]
    """In order; `after` and `stream` are left at their defaults."""
    scratch: tuple[Buffer, ...] = ()
    """Buffers of role `scratch` that the steps need beside the region's own; names begin with `entry`."""
    domain: str = ""
    """Predicate over axes where this source serves; empty means wherever the region does."""
    header: frozenset[str] = frozenset()
    """Text resources, by path below this folder; put once at the head of the source, sorted."""


class Template(Protocol):
    """One way to write a kind of region for a kind of target."""

    name: str
    target: TargetName

    def unavailable(self, region: Region) -> str | None:
        """Why this template cannot serve `region`, or None if it can."""

    def space(self, region: Region) -> Space:
        """What may be chosen for `region`; every combination emits."""

    def emit(self, region: Region, choice: Choice, entry: str) -> Emitted:
        """Source and steps for `region`; entries are called `entry`, or begin with it."""


def resource(name: str) -> str:
    """Text of a resource, by its path below this folder."""
    return files("kernelwright.propose.templates").joinpath(name).read_text(encoding="utf-8")
