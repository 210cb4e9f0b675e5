"""Proposals for a problem's graph as written and, beside them, for its rewritten form.

The search chooses between the two like between any others, and the judge knows only the problem: a
rewrite that is no gain on this machine, or not precise enough, loses or is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kernelwright.core.errors import ProblemError
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.graph.capture import Captured
from kernelwright.graph.generalize import Elsewhere
from kernelwright.graph.rewrites.engine import Rewritten, rewritten
from kernelwright.propose.proposals import Proposals

WORTH = 0.95
"""Work that a rewritten form has at most, as a share of that of the graph as written, to be proposed."""


def open_forms(
    problem: Problem, captured: Captured, target: Target, elsewhere: Elsewhere | None = None
) -> Proposals:
    """Proposals for the graph, with those for its rewritten form where that is worth a try.

    ProblemError as from `Proposals.open`, if neither form has any. Where only the rewritten form has, it is
    the only one.
    """
    form = rewritten(captured)
    if form.after.work > WORTH * form.before.work:
        return Proposals.open(problem, captured, target, elsewhere)
    other = _of_form(problem, form, target, elsewhere)
    if isinstance(other, ProblemError):
        return Proposals.open(problem, captured, target, elsewhere)
    try:
        written = Proposals.open(problem, captured, target, elsewhere)
    except ProblemError:
        return other
    return replace(written, rewritten=other)


def _of_form(
    problem: Problem, form: Rewritten, target: Target, elsewhere: Elsewhere | None
) -> Proposals | ProblemError:
    def there(axes: Mapping[str, int]) -> Captured | None:
        captured = None if elsewhere is None else elsewhere(axes)
        return None if captured is None else rewritten(captured, form.products).captured

    try:
        found = Proposals.open(
            problem, form.captured, target, None if elsewhere is None else there, prepares=True
        )
        return replace(found, rules=form.rules)
    except ProblemError as error:
        return error
