"""The search loop: ask, compile ahead, judge, store, tell, until the budget is used up.

Every trial is written to the store before it is reported or told. One candidate's failure is a
rejected trial and never ends the run; what ends it is the budget, an empty space, Ctrl-C, or a
machine that lacks something (`EnvironmentFault`). Kernels that were judged in this run already are not
judged again: the strategy is told their cost.

Not covered: who proposes kernels, how they are judged, where trials are kept; those come in `Tools`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kernelwright.core.errors import EnvironmentFault, KernelwrightError, first_line
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import CONTRACT_VERSION
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation, Trial
from kernelwright.core.verdict import GateResult, Verdict
from kernelwright.propose.space import Choice
from kernelwright.search.ahead import Ahead
from kernelwright.search.base import Budget, Strategy
from kernelwright.search.interrupt import Interrupts

GLANCE_S = 0.2
"""How often a wait for compilers looks whether it should end."""


@dataclass(frozen=True)
class Tools:
    """What the loop needs from outside."""

    kernel: Callable[[Choice], Kernel]
    build: Callable[[Kernel], Build]
    judge: Callable[[Kernel, Build, float | None], Evaluation]
    """The third argument is the low end of the best speed-up so far: losers may be stopped early."""
    record: Callable[[Trial], object]
    """Returns once the trial is on disk."""
    report: Callable[[int, Trial, Trial | None], None]
    """Number of trials, this one, the best so far."""
    begins: Callable[[str], None] = lambda what: None
    """Hears what is waited for, in words."""


@dataclass
class Outcome:
    """What a search found."""

    accepted: list[Trial] = field(default_factory=list)
    """Accepted and timed, cheapest first."""
    trials: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    """How many trials were rejected, by gate and message."""
    interrupted: bool = False
    ended: str = ""
    """Why the search ended."""


class Search:
    """One search under one budget."""

    def __init__(
        self,
        tools: Tools,
        strategy: Strategy,
        budget: Budget,
        target: Target,
        run: str,
        *,
        workers: int,
        first: Sequence[Choice] = (),
    ) -> None:
        """`workers` compilers run side by side; `first` are choices to try before asking the strategy."""
        self._tools = tools
        self._strategy = strategy
        self._budget = budget
        self._target = target
        self._run = run
        self._workers = workers
        self._first = list(first)
        self._costs: dict[str, float | None] = {}
        self._outcome = Outcome()

    def go(self) -> Outcome:
        """Search; returns what was found, also after Ctrl-C. What has begun is judged: one trial at least."""
        outcome = self._outcome
        with Interrupts() as interrupts, Ahead(self._tools.build, self._workers) as ahead:
            for choice, kernel in self._pairs(ahead, interrupts):
                if interrupts.asked or (self._budget.left <= 0 and outcome.trials):
                    break
                self._try(choice, kernel, ahead)
            outcome.interrupted = interrupts.asked
        if outcome.interrupted:
            outcome.ended = "interrupted"
        else:
            outcome.ended = "budget used up" if self._budget.left <= 0 else "nothing left to try"
        return outcome

    def _pairs(self, ahead: Ahead, interrupts: Interrupts) -> Iterator[tuple[Choice, Kernel]]:
        """Kernels to judge, compiled ahead; on CUDA the next batch is compiled meanwhile."""
        overlap = self._target.name == "cuda"
        coming = self._batch(ahead)
        while coming and not interrupts.asked:
            batch = coming
            self._tools.begins(f"compiling {len(batch)} kernel{'s' * (len(batch) != 1)}")
            if not overlap:
                self._await([kernel for _, kernel in batch], ahead, interrupts)
            coming = self._batch(ahead) if overlap else []
            yield from batch
            coming = coming or self._batch(ahead)

    def _await(self, kernels: list[Kernel], ahead: Ahead, interrupts: Interrupts) -> None:
        """Until these are built, the budget is used up, or somebody pressed Ctrl-C."""
        while self._budget.left > 0 and not interrupts.asked:
            if ahead.settled(kernels, GLANCE_S):
                return

    def _batch(self, ahead: Ahead) -> list[tuple[Choice, Kernel]]:
        if self._budget.left <= 0:
            return []
        pairs: list[tuple[Choice, Kernel]] = []
        while not pairs:
            choices = self._ask(2 * self._workers if self._costs else self._workers)
            if not choices:
                return []
            pairs = [(choice, kernel) for choice in choices if (kernel := self._fresh(choice)) is not None]
        ahead.begin(kernel for _, kernel in pairs)
        return pairs

    def _ask(self, count: int) -> list[Choice]:
        if self._first:
            chosen, self._first = self._first[:count], self._first[count:]
            return chosen
        return self._strategy.ask(count)

    def _fresh(self, choice: Choice) -> Kernel | None:
        """The kernel of a choice, or None where it cannot be made or was judged already."""
        try:
            kernel = self._tools.kernel(choice)
        except EnvironmentFault:
            raise
        except KernelwrightError:
            self._strategy.tell(choice, None)
            return None
        if kernel.hash in self._costs:
            self._strategy.tell(choice, self._costs[kernel.hash])
            return None
        return kernel

    def _try(self, choice: Choice, kernel: Kernel, ahead: Ahead) -> None:
        if kernel.hash not in self._costs:
            trial = Trial(run=self._run, kernel=kernel, evaluation=self._evaluate(kernel, ahead))
            self._tools.record(trial)
            self._keep(trial)
        self._strategy.tell(choice, self._costs[kernel.hash])

    def _evaluate(self, kernel: Kernel, ahead: Ahead) -> Evaluation:
        try:
            build = ahead.result(kernel)
        except EnvironmentFault:
            raise
        except KernelwrightError as error:
            build = Build(kernel=kernel.hash, target=self._target, status="failed", log=first_line(error))
        try:
            return self._tools.judge(kernel, build, self._incumbent)
        except EnvironmentFault:
            raise
        except KernelwrightError as error:
            return unjudged(kernel, build, error)

    def _keep(self, trial: Trial) -> None:
        outcome = self._outcome
        outcome.trials += 1
        self._costs[trial.kernel.hash] = cost_of(trial.evaluation)
        if self._costs[trial.kernel.hash] is not None:
            outcome.accepted.append(trial)
            outcome.accepted.sort(key=lambda each: self._costs[each.kernel.hash] or 0.0)
        elif trial.evaluation.verdict is not None and (reason := trial.evaluation.verdict.reason) is not None:
            outcome.rejected[f"{reason.gate}: {reason.message}"] += 1
        self._tools.report(outcome.trials, trial, outcome.accepted[0] if outcome.accepted else None)

    @property
    def _incumbent(self) -> float | None:
        """Low end of the best kernel's speed-up over the strongest baseline."""
        if not self._outcome.accepted:
            return None
        measurement = self._outcome.accepted[0].evaluation.measurement
        return measurement.strongest.ci[0] if measurement and measurement.strongest else None


def cost_of(evaluation: Evaluation) -> float | None:
    """What a strategy is told: time relative to the strongest baseline beside it, so that a machine that
    slows down for a while does not count, and by the low end of the interval, so that a noisy look does
    not pass for a fast kernel; microseconds where nothing was beside it. None: rejected."""
    measurement = evaluation.measurement
    if measurement is None or evaluation.verdict is None or evaluation.verdict.verdict != "accepted":
        return None
    return 1 / measurement.strongest.ci[0] if measurement.strongest else measurement.kernel.latency_us


def unjudged(kernel: Kernel, build: Build, error: KernelwrightError) -> Evaluation:
    """A trial that our own judge could not finish: rejected, with the reason, and counted as our fault."""
    gate = GateResult(name="judge", status="fail", kind="judge", message=first_line(error))
    return Evaluation(
        problem=kernel.problem,
        kernel=kernel.hash,
        target=build.target,
        build=build,
        verdict=Verdict.of([gate], "quick", CONTRACT_VERSION, []),
    )
