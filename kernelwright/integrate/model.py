"""`optimize_model`: the parts of a model that cost time, answered by kernels, in place.

    model = optimize_model(model, batches, budget_s=600)
    model.kernelwright.report["whole"]["speedup"]

Survey, choose, search, fit, prove the whole; what does not make the whole faster is taken out again. See
`docs/design/in-place.md`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from torch import nn

from kernelwright.core.errors import InternalFault, KernelwrightError, UsageError, boundary, first_line
from kernelwright.core.measurement import Speedup
from kernelwright.core.target import Target
from kernelwright.execute.present import require_device
from kernelwright.integrate.admitted import check_model
from kernelwright.integrate.batch import Batch, batches_of
from kernelwright.integrate.choose import Group
from kernelwright.integrate.installation import Installation
from kernelwright.integrate.proof import KERNELS, Timed, compared, timed
from kernelwright.integrate.sites import UNFORESEEN, Sites, guards
from kernelwright.integrate.survey import survey
from kernelwright.measure.status import WON
from kernelwright.optimize import OnProgress, Result, optimize
from kernelwright.store.base import TrialStore

LEAST_S = 5.0
"""Search time that a group gets at least; with less budget, fewer groups are searched."""
Against = Literal["strongest", "eager"]
"""What the whole must beat to keep its kernels."""


def optimize_model(
    model: nn.Module,
    batches: list[Any],
    *,
    budget_s: float = 600.0,
    target: str = "cpu",
    against: Against = "strongest",
    on_progress: OnProgress | None = None,
    store: TrialStore | None = None,
) -> nn.Module:
    """Put verified kernels into the parts of `model` where they help, and return the same object.

    `batches` is a list of what the model is called with: a tensor, a tuple of arguments, or a dictionary of
    them by name. `budget_s` is search time over all parts. The kernels stay if the whole is faster than
    `against`: the strongest of eager and the `torch.compile` modes, or eager alone. `model.kernelwright` says
    what was found and undoes it. UsageError for a model in train mode, on another device, or that raises on
    a batch.
    """
    tell = on_progress or _silent
    where = Target.parse(target)
    check_model(model, where)
    if against not in ("strongest", "eager"):
        raise UsageError(f"against {against!r} is given; allowed: 'strongest', 'eager'")
    if not LEAST_S <= budget_s < math.inf:
        raise UsageError(f"a budget of {budget_s!r} s is given; give {LEAST_S:g} s of search or more")
    require_device(where)
    given = batches_of(batches)
    tell({"stage": "survey", "message": "timing the parts of the model"})
    parts = survey(model, given)
    installed = _Search(Sites(model, given, parts, where), budget_s, tell, store).go()
    if installed.guards:
        with ExitStack() as unproven:
            unproven.callback(installed.undo)  # also after Ctrl-C: what is not proven does not stay
            _prove(installed, given, where, against, tell)
            unproven.pop_all()
    else:
        installed.report["conclusion"] = "nothing was put in: no part has a kernel that is faster than eager"
        installed.put_in()
    return model


@dataclass
class _Search:
    """From sites to guards."""

    sites: Sites
    budget_s: float
    tell: OnProgress
    store: TrialStore | None
    searched: set[str] = field(default_factory=set)
    """Names of the first sites of groups that had their search."""
    unfit: dict[str, str] = field(default_factory=dict)
    """Sites that are not what their group's kernel was proven for."""

    def go(self) -> Installation:
        """Search group by group and fit each kernel to all of its sites; nothing is put in yet.

        Where a part gains nothing, the parts inside it have their turn.
        """
        installed = Installation(self.sites.model)
        installed.report["groups"] = []
        while True:
            waiting, installed.left = self.sites.loaded(int(self.budget_s // LEAST_S), self.searched)
            if not waiting:
                break
            group = waiting[0]
            seconds = max(LEAST_S, self.budget_s * group.gain_s / sum(each.gain_s for each in waiting))
            self.budget_s -= seconds
            self.searched.add(group.parts[0].name)
            self.tell({"stage": "site", "message": f"{group.name}: {seconds:.0f} s of search"})
            if self._searched(group, seconds, installed):
                break
        installed.left |= self.unfit
        return installed

    def _searched(self, group: Group, seconds: float, installed: Installation) -> bool:
        """Search one group, and fit its kernel where that is faster than eager; whether to stop here."""
        try:
            with boundary(InternalFault, UNFORESEEN):
                result = optimize(
                    self.sites.problem(group),
                    target=self.sites.target.name,
                    budget_s=seconds,
                    on_progress=self.tell,
                    store=self.store,
                )
        except KernelwrightError as error:
            self.sites.leave(group, first_line(error))
            return False
        installed.report["groups"].append({"sites": [part.name for part in group.parts], **result.report})
        speedup, low = _over_eager(result)
        if result.kernel is not None and low >= WON:
            self._fit(group, result, installed)
        else:
            why = f"its kernel is {speedup:.2f}x over eager" if result.kernel else "no kernel was verified"
            self.sites.leave(group, why)
        return bool(result.report["interrupted"])

    def _fit(self, group: Group, result: Result, installed: Installation) -> None:
        kernel, made = result.kernel, result.build
        assert kernel is not None and made is not None
        found, unfit = guards(group.parts, kernel, made, result.problem)
        self.unfit |= unfit
        installed.guards |= found
        state = result.report["best"]["trial"], _over_eager(result)[0]
        installed.found |= dict.fromkeys(found, state)


def _prove(
    installed: Installation, batches: Sequence[Batch], target: Target, against: Against, tell: OnProgress
) -> None:
    """Keep the guards if the whole is right and faster, else take them out and say why."""
    installed.put_in()
    model = installed.model
    tell({"stage": "proof", "message": "comparing results of the whole model"})
    rows = compared(model, installed, batches)
    installed.report["results"] = [asdict(row) for row in rows]
    wrong = next((row for row in rows if row.why), None)
    if wrong is not None:
        _withdraw(installed, f"result {wrong.result} of batch {wrong.batch}: {wrong.why}")
        return
    tell({"stage": "proof", "message": "timing the whole model beside its baselines"})
    found = timed(model, installed, batches, target.name)
    installed.report["whole"] = _whole(found)
    said, low = _said(found), found.over("eager")[0] if against == "eager" else found.strongest.ci[0]
    if low < 1.0:
        _withdraw(installed, f"the whole is not faster: {said}")
        return
    for guard in installed.guards.values():
        guard.count_anew()
    installed.report["conclusion"] = f"sites with kernels: {len(installed.guards)}; {said}"


def _withdraw(installed: Installation, why: str) -> None:
    """Take all guards out; the installation stays, to say why."""
    for name, guard in installed.guards.items():
        guard.take_out()
        if not guard.kernel.served and guard.kernel.passed_on:
            installed.report.setdefault("unanswered", {})[name] = dict(guard.kernel.passed_on)
        guard.kernel.release()
        installed.left[name] = f"withdrawn with all others: {why}"
    installed.guards.clear()
    installed.report["conclusion"] = f"nothing stays in: {why}"


def _whole(found: Timed) -> dict[str, Any]:
    return {
        "latency_us": found.latency_us,
        "speedup": {each.baseline: each.ratio for each in found.speedups},
        "speedup_ci": {each.baseline: list(each.ci) for each in found.speedups},
        "strongest": found.strongest.baseline,
        "status": found.status,
        "unavailable": found.unavailable,
        "stopping": found.stopping,
        "disturbed": found.disturbed or None,
    }


def _said(found: Timed) -> str:
    eager = [each for each in found.speedups if each.baseline == "eager" != found.strongest.baseline]
    words = [_ratio(each) for each in eager]
    words.append(f"{_ratio(found.strongest)}, the strongest: {found.status}")
    doubt = f" (while it was timed, {found.disturbed})" if found.disturbed else ""
    return f"{found.latency_us[KERNELS]:,.0f} us a call, {'; '.join(words)}{doubt}"


def _ratio(speedup: Speedup) -> str:
    return f"{speedup.ratio:.2f}x [{speedup.ci[0]:.2f}, {speedup.ci[1]:.2f}] over {speedup.baseline}"


def _over_eager(result: Result) -> tuple[float, float]:
    """Speed-up over eager, and the low end of its interval, or its value where it was not paired."""
    best = result.report["best"]
    if best is None or best["speedup"].get("eager") is None:
        return 0.0, 0.0
    ratio, ci = best["speedup"]["eager"], best["speedup_ci"].get("eager")
    return ratio, ci[0] if ci else ratio


def _silent(event: dict[str, Any]) -> None:
    """Progress that nobody listens to."""
