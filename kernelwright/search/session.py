"""`Session`: a problem's bench, its ranked baselines, and the two ways a kernel is judged in a search.

Quick: on shared draws, beside the strongest baseline only, losers stopped early. Final: on a fresh
bench with fresh draws, beside all baselines that come near the strongest, in several processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.evaluate import evaluate
from kernelwright.execute.bench import Bench
from kernelwright.execute.sizes import problem_bytes
from kernelwright.measure.baselines import BASELINES, Ranked, applicable, rank, strongest
from kernelwright.measure.ceilings import ceilings
from kernelwright.measure.paired import stopwatch_for
from kernelwright.measure.stopping import RULES
from kernelwright.measure.stopwatch import ClockName
from kernelwright.search.prestarted import Prestarted
from kernelwright.verify.slots import Slots

NEAR, EAGER_NEAR = 1.15, 1.5
"""Baselines slower than the fastest by more than this factor are not timed again; eager, which nothing
has to be compiled for and which everybody asks about, only from the second."""

ANTICIPATED_BYTES = 512 << 20
"""Inputs, weights and outputs of a problem up to which the processes of all replicates are made ready at
once, on a CPU; each holds a few times as much."""


OnStage = Callable[[str], None]
"""Hears what begins."""


def _unheard(what: str) -> None:
    """Nobody waits."""


@dataclass(frozen=True)
class Session:
    """One problem on one target, ready to judge kernels."""

    problem: Problem
    target: Target
    slots: Slots
    ranked: tuple[Ranked, ...]
    """Every baseline of the target: those timed, fastest first, then those that were not, with the reason."""
    frozen_weights: bool = False
    prestarted: Prestarted | None = None
    """On CUDA: processes for the final judgement."""

    @classmethod
    def open(
        cls,
        bench: Bench,
        on_stage: OnStage = _unheard,
        frozen_weights: bool = False,
        prestarted: Prestarted | None = None,
    ) -> Session:
        """Make all baselines that can be made, and rank them in a quick pass.

        Ceilings are measured here, where they are not kept yet, and what is expected of the shared draws is
        made, so that no search waits for them.
        """
        slots = Slots(bench)
        on_stage("measuring what this machine can do")
        ceilings(bench.target, worker=bench.reference)
        ranked = _ranked(bench, slots, prestarted, on_stage)
        on_stage("computing what is right in float64")
        slots.expect()
        return cls(bench.problem, bench.target, slots, ranked, frozen_weights, prestarted)

    @property
    def opponents(self) -> list[str]:
        """The baselines that come near the fastest."""
        near = strongest(self.ranked, keep=len(self.ranked), within=NEAR)
        further = strongest(self.ranked, keep=len(self.ranked), within=EAGER_NEAR)
        return [name for name in further if name in near or name == "eager"]

    def quick(
        self, kernel: Kernel, build: Build, incumbent: float | None, on_stage: OnStage = _unheard
    ) -> Evaluation:
        """Judge on shared draws, beside the strongest baseline."""
        return evaluate(
            self.problem,
            kernel,
            self.target,
            "quick",
            self.slots,
            build=build,
            baselines=strongest(self.ranked, keep=1),
            incumbent=incumbent,
            frozen_weights=self.frozen_weights,
            on_stage=on_stage,
        )

    def final(self, kernel: Kernel, build: Build, on_stage: OnStage = _unheard) -> Evaluation:
        """Judge in full, in fresh processes and on fresh draws, beside all opponents.

        On a CPU this takes the search's bench, whose reference's process no candidate has entered; on CUDA
        that one should be closed by now, to free the device's memory.
        """
        with self._fresh() as bench:
            return evaluate(
                self.problem,
                kernel,
                self.target,
                "full",
                Slots(bench),
                build=build,
                baselines=self.opponents,
                frozen_weights=self.frozen_weights,
                on_stage=on_stage,
            )

    @contextmanager
    def _fresh(self) -> Iterator[Bench]:
        if self.prestarted is not None:
            with self.prestarted.bench(self.problem) as bench:
                yield bench
            return
        if self.target.name != "cpu":
            with Bench.open(self.problem, self.problem.base, self.target) as bench:
                yield bench
            return
        bench = self.slots.bench
        bench.renew()
        fits = problem_bytes(self.problem) <= ANTICIPATED_BYTES
        count = RULES["full"].replicates - 1 if fits else 0  # the first is there already
        with bench.anticipating(count, self.opponents) if count else nullcontext():
            yield bench


def _ranked(
    bench: Bench, slots: Slots, prestarted: Prestarted | None, on_stage: OnStage
) -> tuple[Ranked, ...]:
    clock: ClockName = "outside" if bench.target.name == "cpu" else "events"
    drawn = slots.timed()
    reasons = applicable(bench.problem, bench.target.name, clock)
    if prestarted is not None:
        prestarted.compile(bench, [name for name, reason in reasons.items() if reason is None])
    for name in BASELINES[bench.target.name]:
        if reasons[name] is None:
            on_stage(f"compiling {name}" if name.startswith("compile") else f"warming up {name}")
            reasons[name] = bench.baseline(name)
    if prestarted is not None:
        prestarted.settle()
    ready = [name for name, reason in reasons.items() if reason is None]
    on_stage("ranking baselines")
    stopwatch, refused = stopwatch_for(bench, ready, drawn)
    reasons |= refused
    timed = rank(stopwatch, [name for name in ready if name not in refused], drawn)
    return (*timed, *_untimed(reasons))


def _untimed(reasons: dict[str, str | None]) -> Sequence[Ranked]:
    return [Ranked(name, None, reason) for name, reason in reasons.items() if reason is not None]
