"""`optimize`: a problem in, a proven faster kernel and a report out. `diagnose`: what could be won.

    result = optimize("examples/problems/softmax.py", budget_s=60)
    result.report["best"]["speedup"]["strongest"]; result.module(x)

Load the problem, take the baselines, search under the budget, then judge the best anew in full. The
budget is search time; loading, baselines and the final judgement come on top and are reported as
`seconds`. That nothing faster was found is a result, and so is that no kernel could be proposed.
"""

from __future__ import annotations

import math
import os
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from kernelwright.core.errors import KernelwrightError, UsageError
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Mode, NumericFlags, Problem
from kernelwright.core.process import this_process
from kernelwright.core.target import Target
from kernelwright.core.trial import Run
from kernelwright.execute.bench import Bench
from kernelwright.execute.present import require_device
from kernelwright.problems import load_problem
from kernelwright.propose.proposals import Proposals
from kernelwright.search.base import STRATEGIES, Budget
from kernelwright.search.campaign import Campaign, open_proposals, weak
from kernelwright.search.diagnosis import Diagnosis, diagnosed
from kernelwright.search.prestarted import CORES_TO_PRESTART, Prestarted
from kernelwright.search.report import report
from kernelwright.search.session import Session
from kernelwright.store import open_store
from kernelwright.store.base import TrialStore

OnProgress = Callable[[dict[str, Any]], None]
__all__ = ["Diagnosis", "Result", "diagnose", "optimize"]


@dataclass(frozen=True)
class Result:
    """What an optimization found."""

    report: dict[str, Any] = field(repr=False)
    """As `optimize --json` prints it."""
    problem: Problem = field(repr=False)
    run_id: str
    kernel: Kernel | None
    """The fastest verified kernel, also where it loses to a baseline; None where none was verified."""
    build: Build | None = field(default=None, repr=False)
    source: Any = field(default=None, repr=False)
    """What was optimized, as it was given."""

    def __str__(self) -> str:
        """One line: how much faster than the strongest baseline, with its interval and status, and why."""
        best, name = self.report["best"], self.report["problem"]["name"]
        if best is None:
            return f"{name} on {self.report['target']}: no verified kernel was found; the original stays"
        ratio, ci = (best[key]["strongest"] for key in ("speedup", "speedup_ci"))
        over = f", {ratio:.2f}x [{ci[0]:.2f}, {ci[1]:.2f}] over {best['strongest']}" if ratio else ""
        why = f"; {best['status_reason']}" if best["status_reason"] else ""
        return f"{name} on {self.report['target']}: {best['status']}{over}, {best['latency_us']:,.1f} us{why}"

    @cached_property
    def module(self) -> Any:
        """The original with the kernel in it: inside the kernel's domain the kernel runs, else the original.

        The original itself where no kernel was verified. UsageError where it was changed after `optimize`.
        """
        from kernelwright.execute.fit import fitted
        from kernelwright.problems.reference import Reference

        original = self.source if callable(self.source) else None
        if self.kernel is not None and self.build is not None:
            return fitted(original, self.kernel, self.build, self.problem)
        if original is not None:
            return original
        return Reference.open(self.problem, self.problem.base, self.report["target"]).module


def optimize(
    source: Any,
    inputs: Any = None,
    *,
    mode: Mode | None = None,
    target: str = "cpu",
    budget_s: float = 60.0,
    strategy: str = "evolution",
    seed: int | None = None,
    frozen_weights: bool = False,
    strict: bool = False,
    on_progress: OnProgress | None = None,
    store: TrialStore | None = None,
) -> Result:
    """Find a faster kernel for `source` and prove it.

    `source` is a problem file, `module:attribute`, a module or a function (the last three with
    `inputs`), or a `Problem` that was loaded before. `budget_s` is search time. `strict` turns TF32 off
    on both sides; without it torch's default flags hold on both. ProblemError or UsageError for what
    does not fit, EnvironmentFault for what the machine lacks. Ctrl-C ends the search with the best so far.
    """
    _check_seconds("a budget", budget_s)
    begun = time.monotonic()
    tell = on_progress or _silent
    STRATEGIES.get(strategy)
    where = Target.parse(target)
    require_device(where)
    tell({"stage": "problem", "message": "loading and tracing"})
    problem = _problem(source, inputs, mode, strict)
    for reason in weak(problem):
        tell({"stage": "weak", "message": reason})
    seed = secrets.randbits(32) if seed is None else seed
    run = Run(
        problem=problem, target=where, budget_s=budget_s, strategy=strategy, seed=seed, process=this_process()
    )
    with _kept(store) as trials:
        trials.add_run(run)
        with _ended(run, trials), _prestarted(where) as prestarted, _opened(run, tell) as (bench, proposals):
            session = Session.open(bench, _stage(tell), frozen_weights, prestarted)
            campaign = Campaign(session, trials, run, tell, proposals)
            budget = Budget(run.budget_s)
            outcome, searched = campaign.search(budget), budget.used
            if where.name == "cuda":
                bench.close()  # its memory is the final judgement's
            best = campaign.finish(outcome)
            document = report(
                run,
                best,
                campaign.session.ranked,
                trials=outcome.trials,
                seconds=time.monotonic() - begun,
                search_seconds=searched,
                notes=campaign.notes,
                interrupted=outcome.interrupted,
            )
            state: Literal["interrupted", "done"] = "interrupted" if outcome.interrupted else "done"
            trials.update_run(run.model_copy(update={"state": state, "report": document}))
    kernel, made = (best.kernel, best.evaluation.build) if best else (None, None)
    return Result(document, problem, run.id, kernel, made, source)


def diagnose(
    source: Any,
    inputs: Any = None,
    *,
    mode: Mode | None = None,
    target: str = "cpu",
    seconds: float = 120.0,
    on_progress: OnProgress | None = None,
) -> Diagnosis:
    """Say where the time of `source` goes and what a perfect kernel could gain, before any search."""
    _check_seconds("a time", seconds)
    where = Target.parse(target)
    require_device(where)
    return diagnosed(load_problem(source, inputs, mode=mode), where, seconds, on_progress or _silent)


def _problem(source: Any, inputs: Any, mode: Mode | None, strict: bool) -> Problem:
    problem = source if isinstance(source, Problem) else load_problem(source, inputs, mode=mode)
    full = NumericFlags(tf32_matmul=False, tf32_conv=False)
    return problem.model_copy(update={"flags": full}) if strict else problem


def _stage(tell: OnProgress) -> Callable[[str], None]:
    return lambda what: tell({"stage": "baseline", "message": what})


@contextmanager
def _opened(run: Run, tell: OnProgress) -> Iterator[tuple[Bench, Callable[[], Proposals] | None]]:
    """The bench of the search, and the proposals where they are made meanwhile."""
    tell({"stage": "baseline", "message": "compiling and ranking baselines"})
    with _proposals(run) as proposals, Bench.open(run.problem, run.problem.base, run.target) as bench:
        yield bench, proposals


@contextmanager
def _proposals(run: Run) -> Iterator[Callable[[], Proposals] | None]:
    """On a GPU the problem is traced while processes start and compile; on a CPU that is timed, later."""
    if run.target.name == "cpu":
        yield None
        return
    with ThreadPoolExecutor(1, thread_name_prefix="proposals") as pool:
        yield pool.submit(open_proposals, run.problem, run.target).result


@contextmanager
def _prestarted(target: Target) -> Iterator[Prestarted | None]:
    if target.name == "cpu" or len(os.sched_getaffinity(0)) < CORES_TO_PRESTART:
        yield None
        return
    with closing(Prestarted(target)) as prestarted:
        yield prestarted


def _check_seconds(what: str, seconds: float) -> None:
    if not (isinstance(seconds, int | float) and math.isfinite(seconds) and seconds >= 0):
        raise UsageError(f"{what} of {seconds!r} s is given; give a finite number of seconds, 0 or more")


@contextmanager
def _ended(run: Run, trials: TrialStore) -> Iterator[None]:
    """Keep a run whose block raises as interrupted or failed, so that it does not pass for running."""
    state: Literal["done", "interrupted", "failed"] = "failed"
    try:
        yield
        state = "done"
    except KeyboardInterrupt:
        state = "interrupted"
        raise
    finally:
        if state != "done":
            with suppress(KernelwrightError):
                trials.update_run(run.model_copy(update={"state": state}))


def _kept(store: TrialStore | None) -> AbstractContextManager[TrialStore]:
    return open_store() if store is None else nullcontext(store)


def _silent(event: dict[str, Any]) -> None:
    """Progress that nobody listens to."""
