"""`Sites`: the parts of a model that a search could serve, as problems, and why the others are left.

    sites = Sites(model, batches, survey(model, batches), target)
    waiting, left = sites.loaded(room=3)        # the three groups with the most to gain
    sites.problem(waiting[0])

A part becomes a problem on the arguments of its first call. One that does more than compute, that cannot be
traced or that no template serves is left with the reason, and the parts inside it have their turn. So is one
on which this program itself fails: a fault of ours costs a user that part, not the model.

Not covered: parts whose kernels turn out slow; the search finds out, and says so (`leave`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from kernelwright.core.errors import InternalFault, UsageError, boundary, first_line
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.execute.fit import fitted
from kernelwright.execute.reports import KernelFault
from kernelwright.integrate.batch import Batch
from kernelwright.integrate.choose import LEAST_SHARE, Group, choose
from kernelwright.integrate.guard import Guard
from kernelwright.integrate.survey import Part, arguments
from kernelwright.integrate.trial_run import does_more
from kernelwright.measure.ceilings import ceilings
from kernelwright.problems import load_problem
from kernelwright.propose.proposals import Proposals
from kernelwright.search.campaign import open_proposals

UNFORESEEN = "an unforeseen fault of Kernelwright"
"""How the reason of a part begins on which this program failed: report it."""
NO_ROOM = "the budget was used up before it"


@dataclass
class Sites:
    """Groups of one model, and their problems."""

    model: nn.Module
    batches: Sequence[Batch]
    parts: Sequence[Part]
    target: Target
    least_share: float = LEAST_SHARE
    """Of the model's time: what a group must be able to give back."""
    cannot: dict[str, str] = field(default_factory=dict)
    """Parts that cannot be sites, or gained nothing, with the reason."""
    _problems: dict[str, tuple[Problem, Proposals]] = field(default_factory=dict)
    """By the name of a group's first site."""

    def loaded(self, room: int, done: Collection[str] = ()) -> tuple[list[Group], dict[str, str]]:
        """The `room` groups with the most to gain, each with its problem, and why other parts are left.

        `done` are names of first sites whose groups were looked at before; these do not count.
        """
        gbs = ceilings(self.target).copy_gbs
        while True:
            groups, left = choose(self.parts, gbs, self.cannot, self.least_share)
            waiting = [group for group in groups if group.parts[0].name not in done]
            new = [group for group in waiting[:room] if group.parts[0].name not in self._problems]
            if not new:
                late = [part.name for group in waiting[room:] for part in group.parts]
                return waiting[:room], left | dict.fromkeys(late, NO_ROOM)
            given = arguments(self.model, self.batches, {group.parts[0].name for group in new})
            for group in new:
                reason = self._load(group.parts[0], given)
                if reason:
                    self.leave(group, reason)

    def problem(self, group: Group) -> Problem:
        """Of a group that `loaded` gave."""
        return self._problems[group.parts[0].name][0]

    def proposals(self, group: Group) -> Proposals:
        """Kernels for that problem."""
        return self._problems[group.parts[0].name][1]

    def leave(self, group: Group, why: str) -> None:
        """Take none of these from now on, but what is inside them."""
        self.cannot |= dict.fromkeys((part.name for part in group.parts), why)

    def _load(self, part: Part, given: dict[str, tuple[Any, ...]]) -> str:
        """Make the problem of one part; why that cannot be, or nothing."""
        if part.name not in given:
            return "some of its arguments can only be given by name"
        try:
            with boundary(InternalFault, UNFORESEEN):
                more = does_more(part.module, given[part.name])
                if more:
                    return more
                problem = load_problem(part.module, given[part.name], mode="eval")
                proposals = open_proposals(problem, self.target)
        except (UsageError, InternalFault) as error:
            return first_line(error)
        if problem.mutated:
            return f"it changes {', '.join(problem.mutated)} in place"
        if problem.degenerate:
            return f"weak task: {problem.degenerate[0]}"
        self._problems[part.name] = problem, proposals
        return ""


def guards(
    parts: Sequence[Part], kernel: Kernel, made: Build, problem: Problem
) -> tuple[dict[str, Guard], dict[str, str]]:
    """A guard for each part that the kernel fits, by name, and why there is none for the others."""
    found, unfit = dict[str, Guard](), dict[str, str]()
    for part in parts:
        try:
            with boundary(InternalFault, UNFORESEEN):
                found[part.name] = Guard(part.module, fitted(part.module, kernel, made, problem))
        except (UsageError, InternalFault, KernelFault) as error:
            unfit[part.name] = first_line(error)
    return found, unfit
