"""A model with the first kernels that templates give, neither searched nor timed: does it go through at all?

    installed = first_kernels(model, batches)       # guards are in place
    rows = compared(model, installed, batches)      # as `optimize_model` compares the whole
    installed.undo()

Everything that `optimize_model` does to a model happens but the search and the clock: survey, choice, trace,
fit, guards. It takes seconds where a search takes minutes, and so shows on many models what would break.
Not covered: speed. These kernels may be slower than what they stand in for; nobody should keep them.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from kernelwright.core.errors import InternalFault, UsageError, boundary, first_line
from kernelwright.core.target import Target
from kernelwright.integrate.batch import batches_of
from kernelwright.integrate.choose import Group
from kernelwright.integrate.installation import Installation
from kernelwright.integrate.sites import UNFORESEEN, Sites, guards
from kernelwright.integrate.survey import survey
from kernelwright.languages import build

UNTRIED = ("not kept", 1.0)
"""Trial and speed-up of a kernel that was neither kept nor timed."""


def first_kernels(
    model: nn.Module, batches: list[Any], *, target: str = "cpu", most: int = 3
) -> Installation:
    """Guards in the sites of the `most` groups with the most to gain, however little that is.

    UsageError as from `optimize_model`.
    """
    given = batches_of(batches)
    sites = Sites(model, given, survey(model, given), Target.parse(target), least_share=0.0)
    installed, done, unfit = Installation(model), set[str](), dict[str, str]()
    while True:
        waiting, installed.left = sites.loaded(most - len(done), done)
        if not waiting:
            break
        group = waiting[0]
        done.add(group.parts[0].name)
        why, others = _put_in(group, sites, installed)
        unfit |= others
        if why:
            sites.leave(group, why)
    installed.left |= unfit
    installed.put_in()
    return installed


def _put_in(group: Group, sites: Sites, installed: Installation) -> tuple[str, dict[str, str]]:
    """Build the group's first kernel and fit it; why that cannot be, and which sites it does not fit."""
    problem, proposals = sites.problem(group), sites.proposals(group)
    try:
        with boundary(InternalFault, UNFORESEEN):
            kernel = proposals.kernel(proposals.space.default())
            made = build(kernel, sites.target)
    except (UsageError, InternalFault) as error:
        return first_line(error), {}
    if made.status != "built":
        said = next(iter(made.log.strip().splitlines()), "the compiler says nothing")
        return f"{UNFORESEEN}: its first kernel does not compile: {said}", {}
    found, unfit = guards(group.parts, kernel, made, problem)
    installed.guards |= found
    installed.found |= dict.fromkeys(found, UNTRIED)
    return "", unfit
