"""`evaluate`: one kernel on one problem, from sources to verdict and measurement.

    form ▶ build ▶ provenance ▶ contract ▶ numeric ▶ repeat ▶ measure ▶ timed ▶ floor ▶ sanitize

Search, command line, studio and suites all call this function; it knows nothing of them. The first
gate that fails ends the evaluation: a bad kernel is data, and what was not looked at is said.
Without a bench of the caller's, one is opened for this kernel alone, with draws of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import GateResult, Level, ReasonKind, Verdict
from kernelwright.execute.present import require_device
from kernelwright.execute.reports import CandidateFailed
from kernelwright.languages import build as compile_kernel
from kernelwright.measure.baselines import applicable
from kernelwright.measure.ceilings import ceilings
from kernelwright.measure.floors import reporting_floor, reporting_floor_us
from kernelwright.measure.paired import Claim
from kernelwright.measure.stopping import RULES
from kernelwright.measure.stopwatch import ClockName
from kernelwright.sandbox import Limits
from kernelwright.verify.base import GATES, Case, Rejected, run_gate
from kernelwright.verify.fresh import FreshContents
from kernelwright.verify.parcels import Parcels

if TYPE_CHECKING:
    from kernelwright.execute.bench import Bench
    from kernelwright.verify.slots import Slots

TIMEOUT_S, OPEN_TIMEOUT_S = 20.0, 300.0
"""Longest that one action of a kernel may take; an open one may compile what it runs."""
OPEN_PROCESSES = 64
"""Child processes that an open kernel may have at once."""
FIRST, BEFORE = ("form", "build", "provenance"), ("contract", "numeric", "repeat")
AFTER = ("timed", "floor", "sanitize")
"""Gates without a bench, before the measurement, and after it."""


def evaluate(
    problem: Problem,
    kernel: Kernel,
    target: Target,
    level: Level = "quick",
    slots: Slots | None = None,
    *,
    build: Build | None = None,
    baselines: Sequence[str] | None = None,
    incumbent: float | None = None,
    frozen_weights: bool = False,
    on_stage: Callable[[str], None] | None = None,
) -> Evaluation:
    """Build, judge and time `kernel`.

    `slots` are draws on an open bench of this problem, shared with other evaluations. `baselines` are
    timed beside the kernel: all of the target's that can be made by default, none for an empty list.
    `incumbent` is the low end of the best known speed-up; kernels that cannot reach it are timed no
    longer than needed. `frozen_weights` leaves the time of `prepare` out of each call. `on_stage` hears
    what begins, in words for a person who waits.
    """
    case = Case(problem=problem, kernel=kernel, target=target, level=level, on_stage=on_stage)
    seconds: dict[str, float] = {}
    gates = _run(case, FIRST[:1])
    if _good(gates):
        with _clocked(seconds, "build"):
            case.build = build or compile_kernel(kernel, target)
        gates += _run(case, FIRST[1:])
    if _good(gates):
        with _on_bench(case, slots):
            with _clocked(seconds, "gates"):
                gates += _run(case, BEFORE)
            if _good(gates) and (baselines is None or baselines):
                with _clocked(seconds, "measure"):
                    gates += _measured(case, baselines, incumbent, frozen_weights)
            if _good(gates):
                with _clocked(seconds, "gates_after"):
                    gates += _run(case, AFTER)
    return _evaluation(case, gates, seconds)


def _run(case: Case, names: Sequence[str]) -> list[GateResult]:
    """Results of these gates, up to the first that fails."""
    results: list[GateResult] = []
    for name in names:
        case.begins(f"gate {name}")
        results.append(run_gate(GATES.get(name)(), case))
        if not _good(results):
            break
    return results


def _good(gates: Sequence[GateResult]) -> bool:
    return all(gate.status != "fail" for gate in gates)


@contextmanager
def _on_bench(case: Case, slots: Slots | None) -> Iterator[None]:
    """Give the case draws on a bench: the caller's, or its own, closed afterwards."""
    if slots is not None:
        _takes(case, slots)
        yield
        return
    from kernelwright.execute.bench import Bench
    from kernelwright.verify.slots import Slots

    require_device(case.target)
    own = case.kernel.trust == "open"  # brings its own compilers, perhaps
    limits = Limits.candidate(processes=OPEN_PROCESSES) if own else None
    patience_s = OPEN_TIMEOUT_S if own else TIMEOUT_S
    with Bench.open(
        case.problem, case.problem.base, case.target, limits, timeout_s=patience_s, brings_python=own
    ) as bench:
        _takes(case, Slots(bench))
        yield


def _takes(case: Case, slots: Slots) -> None:
    """Let the case have these draws; nothing of its kernel has run there yet."""
    case.slots = slots
    if slots.bench.open_on_device is not None:
        case.witness = Parcels(slots)


def _measured(
    case: Case, baselines: Sequence[str] | None, incumbent: float | None, frozen_weights: bool
) -> list[GateResult]:
    """Time the kernel beside its baselines; a failed gate where it fails under the clock."""
    from kernelwright.measure.paired import paired

    slots = case.drawn
    if isinstance(case.witness, Parcels) and case.problem.changes_inputs:
        case.not_checked.append("speed: inputs that change in place are not given to open kernels on a GPU")
        return []
    case.begins("timing beside baselines")
    slots.ready()
    if case.target.name == "cpu":
        case.witness = FreshContents(slots, whole=_all_new(case))
    try:
        case.measurement = paired(
            slots.bench,
            "kernel",
            makeable(slots.bench) if baselines is None else baselines,
            slots.timed(),
            RULES[case.level],
            incumbent=incumbent,
            claim=_claim(case, slots, frozen_weights),
            witness=case.witness,
            reload=slots.reload,
        )
        if case.witness is not None:
            case.witness.end()
    except CandidateFailed as error:
        return [_failed_timing(error.failure.reason, error.failure.message)]
    except Rejected as error:
        return [_failed_timing(error.kind, str(error))]
    finally:
        if case.witness is not None:
            slots.settle()
    return []


def _all_new(case: Case) -> bool:
    """Whether timed calls get contents that are new altogether: always, but for the first look at a kernel
    which memory bounds. There, looking for the few elements that changed is most of the work."""
    return case.level != "quick" or reporting_floor(case.problem, ceilings(case.target)).bound == "compute"


def _failed_timing(kind: ReasonKind, message: str) -> GateResult:
    return GateResult(name="timed", status="fail", kind=kind, message=f"while it was timed: {message}")


def makeable(bench: Bench) -> list[str]:
    """The target's baselines that apply and can be made on this bench; they are ready afterwards."""
    clock: ClockName = "outside" if bench.target.name == "cpu" else "events"
    if bench.open_on_device is not None:
        clock = "window"
    found = applicable(bench.problem, bench.target.name, clock)
    return [name for name, reason in found.items() if reason is None and bench.baseline(name) is None]


def _claim(case: Case, slots: Slots, frozen_weights: bool) -> Claim:
    return Claim(
        floor_us=reporting_floor_us(case.problem, ceilings(case.target)) or None,
        degenerate=bool(case.problem.degenerate),
        prepare_us=slots.prepare_us,
        charge_prepare=not frozen_weights,
    )


@contextmanager
def _clocked(seconds: dict[str, float], part: str) -> Iterator[None]:
    begun = time.perf_counter()
    try:
        yield
    finally:
        seconds[part] = time.perf_counter() - begun


def _evaluation(case: Case, gates: list[GateResult], seconds: dict[str, float]) -> Evaluation:
    reached = {gate.name for gate in gates}
    missed = [f"{name}: not reached" for name in GATES.names() if name not in reached]
    build = case.build or Build(
        kernel=case.kernel.hash, target=case.target, status="failed", log="not compiled: refused by its form"
    )
    return Evaluation(
        problem=case.problem.hash,
        kernel=case.kernel.hash,
        target=case.target,
        build=build,
        verdict=Verdict.of(gates, case.level, case.problem.contract_version, [*case.not_checked, *missed]),
        measurement=case.measurement if _good(gates) else None,
        seconds=seconds,
    )
