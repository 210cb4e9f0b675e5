"""What a worker remembers of the problem it judges: `state["bench"]`, a `BenchState`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelwright.core.errors import InternalFault, UsageError, did_you_mean
from kernelwright.core.expr import evaluate
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem, Workload
from kernelwright.execute.baselines import Baseline
from kernelwright.execute.layout import ResultLayout
from kernelwright.execute.open_runner import OpenRunner
from kernelwright.execute.packing import Packing
from kernelwright.execute.refill import alike, refill
from kernelwright.execute.runner import Runner
from kernelwright.problems.reference import Reference


@dataclass
class Slot:
    """One set of inputs, and what was made of it."""

    seed: int
    draw: str
    made: Callable[[], list[Any]]
    """Draws the arguments; the same each time."""
    held: list[Any] | None = None
    """The arguments, where they are kept now."""
    outputs: list[torch.Tensor] = field(default_factory=list)
    """Of the kernel's last run on this slot: outputs, then mutated tensors."""
    expected: Any = None
    """For the layer that compares: whatever it computed from `args`. Never set where a candidate runs."""
    stirred: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = field(default_factory=list)
    """Flat views of tensors of `held`, places in which each differs from what was drawn, and what was there
    (`stir`)."""
    anew: bool = False
    """Whether `held` was drawn from another seed (`stir.draw_anew`)."""
    packing: Packing | None = None
    """How arguments like these lie in a parcel, once somebody has asked."""
    result: Any = None
    """What the last timed call returned; kept so that it can be read before the clock stops."""

    @property
    def args(self) -> list[Any]:
        """Arguments as `forward` takes them; drawn now if they are not kept."""
        return self.redraw() if self.held is None else self.held

    def redraw(self) -> list[Any]:
        """Draw them anew, and keep them."""
        self.rest()
        self.held = self.made()
        return self.held

    def refresh(self) -> None:
        """Draw them anew, into the memory that they have."""
        if self.held is None:
            self.redraw()
            return
        found = self.made()
        if alike(self.held, found):
            refill(self.held, found)
        else:
            self.held = found

    def rest(self) -> None:
        """Let go of them; they are drawn again when they are looked at."""
        self.held, self.stirred, self.anew = None, [], False


@dataclass
class BenchState:
    """One problem at one workload, in one worker."""

    problem: Problem
    workload: Workload
    device: str
    reference: Reference
    runner: Runner | OpenRunner | None = None
    kernel: Kernel | None = None
    build: Build | None = None
    slots: dict[str, Slot] = field(default_factory=dict)
    baselines: dict[str, Baseline] = field(default_factory=dict)
    yardstick: Any = None
    """For the layer that compares: whatever it made once for this problem and workload."""

    @property
    def axes(self) -> dict[str, int]:
        """All axis values: the workload's over the source's."""
        return {**self.problem.axis_sizes, **self.workload.axes}

    def slot(self, name: str) -> Slot:
        """The slot called `name`; UsageError if nothing was drawn into it."""
        if name not in self.slots:
            raise UsageError(f"slot '{name}' is empty; draw into it first ({did_you_mean(name, self.slots)})")
        return self.slots[name]

    def loaded(self) -> Runner | OpenRunner:
        """The runner of the loaded kernel; UsageError if there is none."""
        if self.runner is None:
            raise UsageError("no kernel is loaded; load one first")
        return self.runner

    def results(self) -> ResultLayout:
        """The problem's results at this workload: outputs, then mutated tensors."""
        specs = {spec.name: spec for spec in (*self.problem.weights, *self.problem.inputs)}
        wanted = [*self.problem.outputs, *(specs[name] for name in self.problem.mutated)]
        return [
            (
                spec.name,
                getattr(torch, spec.dtype),
                tuple(evaluate(size, self.axes) for size in spec.shape),
            )
            for spec in wanted
        ]


def bench_state(state: dict[str, Any]) -> BenchState:
    """The worker's bench; InternalFault if no problem was opened in it."""
    bench = state.get("bench")
    if not isinstance(bench, BenchState):
        raise InternalFault("the worker was asked before a problem was opened in it")
    return bench
