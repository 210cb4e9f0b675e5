"""`Origin`: the place that a problem's module and arguments are made from, at any axis sizes.

Three kinds, one file each: a KernelBench-form file, an importable path, a pickled object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from kernelwright.core.errors import ProblemError
from kernelwright.core.problem import Entry, Mode, Problem


class Origin(Protocol):
    """Makes modules and arguments. Called inside `placed`, which sets device and seed."""

    entry: Entry
    name: str
    text: str
    """Source text for people."""
    identity: str
    """What the problem's hash covers of it."""
    mode: Mode

    def sizes(self) -> dict[str, int]:
        """What might be an axis: a name and its size as given."""
        ...

    def depends_on_forward(self) -> bool:
        """Whether a size counts as an axis only if the reference still runs with another."""
        ...

    def excludes(self, name: str) -> frozenset[str]:
        """Other names of `sizes` that are no axis if this one is."""
        ...

    def init_args(self) -> tuple[str, ...]:
        """Text of each argument of the model's constructor."""
        ...

    def init_values(self, axes: Mapping[str, int]) -> list[Any]:
        """Arguments of the model's constructor at these sizes, drawn from the context's generator."""
        ...

    def module(self, axes: Mapping[str, int]) -> Callable[..., Any]:
        """The reference at these sizes, on the device of the context."""
        ...

    def arguments(self, axes: Mapping[str, int]) -> list[Any]:
        """Arguments of `forward` at these sizes, drawn from the context's generator."""
        ...


def origin_of(problem: Problem) -> Origin:
    """The origin of a problem that was loaded before, perhaps on another machine."""
    from kernelwright.problems.kernelbench import KernelBenchOrigin
    from kernelwright.problems.module import ObjectOrigin, PathOrigin

    entry = problem.entry
    if entry.kind == "kernelbench":
        return KernelBenchOrigin(problem.source, entry, problem.mode)
    shapes = tuple(spec.shape for spec in problem.inputs)
    if entry.kind == "path":
        return PathOrigin(entry, problem.mode, root=str(problem.notes.get("root", "")), shapes=shapes)
    if not Path(entry.location).is_file():
        raise ProblemError(
            f"problem '{problem.name}' was pickled to {entry.location}, which is gone; load it again"
        )
    return ObjectOrigin(entry, problem.mode, problem.name, shapes=shapes)
