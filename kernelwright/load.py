"""`load`: a kernel that was found and kept, back in the module that it was found for.

    module = kw.load("t-3f9a0c1b2d4e")              # the problem's own module
    module = kw.load("t-3f9a0c1b2d4e", model)       # yours, with your weights

What was proven holds for the problem's reference on the machine that judged it; `kernelwright verify` judges
a published folder anew. A module that computes something else is refused (`execute.fit`). Not covered:
choosing among several trials, and parts of a larger model.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from kernelwright.core.errors import EnvironmentFault, UsageError
from kernelwright.core.trial import Trial
from kernelwright.execute.fit import fitted
from kernelwright.execute.module import KernelModule
from kernelwright.execute.present import require_device
from kernelwright.languages import build
from kernelwright.store import open_store
from kernelwright.store.base import TrialStore


def load(
    trial: str, original: Callable[..., Any] | None = None, *, store: TrialStore | None = None
) -> KernelModule:
    """The original with the kernel of `trial` (its id, or a unique beginning of it) in it.

    `original` is the module or function that was optimized, or another like it, on the trial's target;
    without it the problem's own module is made. UsageError for an id that is not known, a kernel that was not
    accepted, or an `original` that computes something else; EnvironmentFault where the machine cannot build
    or run the kernel.
    """
    with open_store() if store is None else nullcontext(store) as trials:
        found = trials.trial(trial)
        problem = trials.run(found.run).problem
    _require_accepted(found)
    target = found.evaluation.target
    require_device(target)
    made = build(found.kernel, target)
    if made.status != "built":
        raise EnvironmentFault(f"kernel {found.kernel.hash[:12]} was built once and is not now: {made.log}")
    return fitted(original, found.kernel, made, problem)


def _require_accepted(trial: Trial) -> None:
    verdict = trial.evaluation.verdict
    if verdict is None or verdict.verdict != "accepted":
        why = verdict.reason.message if verdict and verdict.reason else "it was not judged"
        raise UsageError(f"the kernel of {trial.id} was not accepted: {why}; load an accepted one")
