"""`Slots`: secret draws on one bench, made once and used by every gate and every kernel judged on it.

A slot is drawn when it is first asked for, by draw name and number: `file-0`, `nonfinite-0`. Its
expectation is kept beside it in the reference's process, so that the oracle runs once per draw and
not once per kernel. Each workload has slots of its own, which wait while another is selected. A final
judgement takes a fresh bench, and so fresh draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelwright.core.errors import EnvironmentFault, ProblemError
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Workload
from kernelwright.execute.bench import PATIENT_S, Bench
from kernelwright.execute.faults import failure_of, our_error
from kernelwright.execute.reports import RunReport
from kernelwright.execute.sizes import is_large
from kernelwright.sandbox import Worker, WorkerFailure
from kernelwright.verify.base import Rejected, Seeds
from kernelwright.verify.narrow import narrowings

_COMPARE = "kernelwright.verify.compare:"
_FRESH = "kernelwright.verify.fresh_ops:"
_STIR = "kernelwright.execute.stir:"
_INSPECT = "kernelwright.verify.inspect:"
TIMED_SLOTS = 2
"""Draws that timed calls rotate over, so that each call meets other addresses."""
AGAIN = "again"
"""Slot whose addresses get the contents of others."""
FIRST = "file-0"
"""Slot whose outputs are held while others run, also where memory is short."""


@dataclass
class _Point:
    """Slots of one workload."""

    workload: Workload
    drawn: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Seed and draw of each."""
    protected: dict[str, tuple[int, dict[str, list[int]]]] = field(default_factory=dict)
    """Checksums of what a run must not change, and the process that they were taken in."""
    ran: set[str] = field(default_factory=set)
    """Those in which outputs of the loaded kernel lie."""


class Slots:
    """Drawn slots of one bench, and the kernel that is loaded in it."""

    def __init__(self, bench: Bench, seeds: Seeds | None = None, *, weights_seed: int = 0) -> None:
        """`weights_seed` is the one that the bench was opened with."""
        self.bench = bench
        self._seeds = seeds or Seeds()
        self._weights_seed = weights_seed
        self._here = _Point(bench.workload)
        self._points = [self._here]
        self._narrowed: dict[str, Workload | None] = {}
        """By domain."""
        self._sparing = is_large(bench.problem, bench.problem.base)
        """Whether one draw is in memory at a time: the same checks, one after the other."""
        self.quiet_us = math.inf
        """The shortest that a fixed copy on the device took while no kernel was loaded (`parcels`)."""
        self._kernel: tuple[Kernel, Build] | None = None
        self._loaded = False
        self.prepare_us: float | None = None
        """Time of the loaded kernel's `prepare`."""

    @property
    def sparing(self) -> bool:
        """Whether memory is so short that one draw and one expectation are there at a time."""
        return self._sparing

    def load(self, kernel: Kernel, build: Build) -> None:
        """Load a kernel in place of the one before, and prepare its weights."""
        if self._kernel is None or self._kernel[0].hash != kernel.hash:
            self._forget_runs()
        self._kernel = (kernel, build)
        self.bench.load(kernel, build)
        self.prepare_us = self.bench.prepare()
        self._loaded = True

    def ready(self) -> None:
        """Load the kernel again where the bench has lost it in between."""
        if not self._loaded and self._kernel is not None:
            self.load(*self._kernel)

    def reload(self) -> None:
        """Load the kernel again, after the bench's processes were replaced and slots were dropped."""
        self._loaded = False
        self._points = [self._here]
        self._here.drawn = {name: how for name, how in self._here.drawn.items() if name in self.bench.drawn}
        self._forget_runs()
        self.ready()

    def fresh_seed(self) -> int:
        """A secret seed that nobody was given before."""
        return self._seeds.fresh()

    def slot(self, draw: str, number: int = 0) -> str:
        """Name of the slot with this draw; drawn from a fresh secret seed on first use."""
        return self._draw(f"{draw}-{number}", draw)

    def timed(self) -> list[str]:
        """Names of the slots that timed calls rotate over."""
        if not self._sparing:
            return [self.slot("file", number) for number in range(TIMED_SLOTS)]
        first = self.slot("file")
        self._hold([first], [])
        return [first]

    def expect(self) -> None:
        """Make what is expected of the timed draws now; kept, it costs the first kernel nothing."""
        for name in self.timed():
            self._compare("expect_slot", slot=name)

    def again(self) -> str:
        """Name of the slot whose inputs `refill` changes in place."""
        return self._draw(AGAIN, "file")

    def refill(self, source: str) -> None:
        """Give the addresses of `again` the contents of `source`, in the candidate's process."""
        onto = self.again()
        if self._sparing:
            self._hold([onto], [FIRST])
        self._inspect("copy_inputs", source=source, onto=onto)

    def drop(self, name: str) -> None:
        """Free a slot that is no longer needed."""
        if self._here.drawn.pop(name, None) is not None:
            self.bench.drop(name)
        self._here.ran.discard(name)
        self._here.protected.pop(name, None)

    def run(self, name: str) -> RunReport:
        """Run the loaded kernel on a slot, outputs poisoned before; `Rejected` where it fails."""
        self.ready()
        self._spare(name)
        if self._protected(name) is None and name != AGAIN:
            self._here.protected[name] = self.bench.candidate.pid, self._inspect("protected", slot=name)
        report = self.bench.run(name)
        self._here.ran.add(name)
        if report.failure is not None:
            self._forget_runs()
            draw = self._here.drawn[name][1]
            raise Rejected(report.failure.reason, report.failure.message, {"draw": draw})
        return report

    def ran(self, name: str) -> bool:
        """Whether outputs of the kernel that is loaded now lie in the slot."""
        return name in self._here.ran

    def changed(self, name: str) -> list[str]:
        """Names of inputs and weights that are no longer what they were before the first run on a slot;
        none where it has not run."""
        before = self._protected(name)
        if before is None:
            return []
        after = self._inspect("protected", slot=name)
        changed = [each for each in before if before[each] != after[each]]
        if changed:
            self._restore()
        return changed

    def _protected(self, name: str) -> dict[str, list[int]] | None:
        """Checksums of a slot in the process that is there now: another may have drawn something else."""
        pid, sums = self._here.protected.get(name, (None, None))
        return sums if pid == self.bench.candidate.pid else None

    def findings(self, name: str, like: str | None = None) -> list[dict[str, Any]]:
        """Hand the outputs of a slot over and compare them; one row per result."""
        self.bench.handover(name)
        rows: list[dict[str, Any]] = self._compare("compare", slot=name, like=like)
        return rows

    def freshen(self, name: str, pieces: int, nbytes: int, *, whole: bool = False) -> dict[str, Any]:
        """Contents of a slot that no call has met; where outputs moved, and what changed (`fresh_ops`).

        Processes that are timed are left as they are, and say at which addresses (`inputs`) they have them.
        """
        seed, how = self._seeds.fresh(), "all" if whole else "some"
        found: dict[str, Any] = self._compare(
            "freshen", _FRESH, slot=name, seed=seed, pieces=pieces, nbytes=nbytes, how=how
        )
        found["inputs"] = {}
        if found["stirred"]:
            bench, where = self.bench, {"slot": name, "whole": found["whole"]}
            found["inputs"] = {
                bench.opponents.pid: self._ask(bench.opponents, _STIR + "addresses", where),
                bench.candidate.pid: self._inspect("addresses", _STIR, **where),
            }
        return found

    def touched(self, name: str) -> dict[str, Any]:
        """Change one element of a slot where it lies, run the kernel there again, and look at all of its
        outputs: counts of wrong ones and of all, and why nothing could be changed (`why`)."""
        seed = self._seeds.fresh()
        made: dict[str, Any] = self._compare(
            "freshen", _FRESH, slot=name, seed=seed, pieces=1, nbytes=64, how="one"
        )
        try:
            if not made["at"]:
                return made
            self._inspect("touch", _STIR, slot=name, seed=seed)
            self.run(name)
            self.bench.handover(name)
            found: dict[str, Any] = self._compare("compare_touched", _FRESH, slot=name)
        finally:
            self._reference_call("calm", _FRESH, {"slot": name})
            self._settle(name)
        return found

    def _settle(self, name: str) -> None:
        """Contents of a slot as they were drawn, in the candidate's process."""
        try:
            self.bench.candidate.call(_STIR + "settle", timeout_s=PATIENT_S, slot=name)
        except WorkerFailure:
            self.bench.candidate.stop()  # a new one draws for itself

    def compare_fresh(self, name: str, samples: list[dict[str, Any]]) -> dict[str, Any]:
        """Compare bytes of timed outputs with what a slot's contents give; counts of compared and wrong."""
        found: dict[str, Any] = self._compare("compare_fresh", _FRESH, slot=name, samples=samples)
        return found

    def settle(self) -> None:
        """Contents of all slots as they were drawn, in every process that still lives."""
        for name in self._here.drawn:
            if self._reference_call("calm", _FRESH, {"slot": name}):
                self._redraw(name)

    def outputs(self, name: str) -> list[list[int]]:
        """Checksums of the outputs that lie in a slot, in the candidate's process."""
        sums: list[list[int]] = self._inspect("outputs", slot=name)
        return sums

    def other_weights(self) -> None:
        """Other weights at the same addresses, in every process; `prepare` runs again."""
        self._reweigh(self._seeds.fresh())

    def first_weights(self) -> None:
        """The weights that the bench was opened with."""
        self._reweigh(self._weights_seed)

    def select(self, workload: Workload) -> None:
        """Go on at other sizes, with slots of their own; ProblemError if there is no reference."""
        if workload == self._here.workload:
            return
        self._loaded = False
        self._here.ran.clear()
        try:
            self.bench.select(workload)
        finally:
            self._follow()

    def _follow(self) -> None:
        """Be where the bench is."""
        workload = self.bench.workload
        known = next((each for each in self._points if each.workload == workload), None)
        self._here = known or _Point(workload)
        if known is None:
            self._points.append(self._here)

    def leave(self, workload: Workload) -> None:
        """Free the slots of a workload that is not the selected one."""
        self._points = [each for each in self._points if each.workload != workload]
        self.bench.leave(workload)

    def narrowed(self, domain: str) -> Workload | None:
        """Smaller sizes inside the domain at which adversarial draws mean as much as at these, if there are.

        Found once for each domain; the workload that is selected stays so.
        """
        if domain not in self._narrowed:
            points = narrowings(self.bench.problem, domain)
            self._narrowed[domain] = next((point for point in points if self._means_as_much(point)), None)
        return self._narrowed[domain]

    def _means_as_much(self, point: Workload) -> bool:
        """Whether the reference runs there, is as the problem says, and folds as many elements into one."""
        here = self._here.workload
        longest = self._compare("form_at", slot=self.slot("file"))["reduction"]
        try:
            self.select(point)
            found = self._compare("form_at", slot=self.slot("file"))
            fits = bool(found["fits"]) and found["reduction"] == longest
        except ProblemError:
            fits = False
        self.select(here)
        if not fits:
            self.leave(point)
        return fits

    def _forget_runs(self) -> None:
        for point in self._points:
            point.ran.clear()

    def _reweigh(self, seed: int) -> None:
        self.ready()
        self.prepare_us = self.bench.prepare(weights_seed=seed)
        self._compare("forget")
        self._here.protected.clear()

    def _spare(self, name: str) -> None:
        """Where memory is short: let go of all inputs but these, and of outputs that nobody will look at."""
        if self._sparing:
            self._hold([name], [name, FIRST])

    def _hold(self, args: Sequence[str], outputs: Sequence[str]) -> None:
        self.bench.hold(args, outputs)
        self._here.ran.intersection_update(outputs)

    def _restore(self) -> None:
        """Draw everything anew from the same seeds, after a kernel wrote what it must not."""
        for name, (seed, draw) in self._here.drawn.items():
            if self._sparing:
                self._hold([], [])
            self.bench.draw(name, seed, draw)
        self._here.ran.clear()
        self.first_weights()

    def _redraw(self, name: str) -> None:
        """Draw a slot again where timed calls were given other contents."""
        opponents, candidate = self.bench.opponents, self.bench.candidate
        if opponents is not self.bench.reference:
            self._ask(opponents, _STIR + "redraw", {"slot": name})
        try:
            candidate.call(_STIR + "redraw", timeout_s=PATIENT_S, slot=name)
        except WorkerFailure:
            candidate.stop()  # a new one draws for itself

    def _draw(self, name: str, draw: str) -> str:
        if name not in self._here.drawn:
            seed = self._seeds.fresh()
            if self._sparing:
                self._hold([], [FIRST])
            self.bench.draw(name, seed, draw)
            self._here.drawn[name] = (seed, draw)
        return name

    def _inspect(self, function: str, module: str = _INSPECT, **parameters: Any) -> Any:
        try:
            return self.bench.candidate.call(module + function, timeout_s=PATIENT_S, **parameters)
        except WorkerFailure as error:
            failure = failure_of(error)
            raise Rejected(failure.reason, failure.message) from error

    def _compare(self, function: str, module: str = _COMPARE, **parameters: Any) -> Any:
        try:
            return self._reference_call(function, module, parameters)
        except (EnvironmentFault, ProblemError) as error:
            if self.bench.device == "cpu" or "out of memory" not in str(error):
                raise
        # Both processes live in one device memory. What is compared is in the reference's by now.
        self._sparing = True
        self._hold([], [FIRST])
        return self._reference_call(function, module, parameters)

    def _reference_call(self, function: str, module: str, parameters: dict[str, Any]) -> Any:
        return self._ask(self.bench.reference, module + function, parameters)

    @staticmethod
    def _ask(worker: Worker, function: str, parameters: dict[str, Any]) -> Any:
        """Ask a process in which no candidate runs."""
        try:
            return worker.call(function, timeout_s=PATIENT_S, **parameters)
        except WorkerFailure as error:
            raise our_error(error, "comparing outputs") from error


def require(rows: Sequence[dict[str, Any]], draw: str, words: str = "") -> dict[str, Any]:
    """Figures of the worst row; `Rejected` by the first row that is not within the contract.

    `words` say what the draw is, for a message.
    """
    for row in rows:
        if row["kind"] is not None:
            said = f"{row['message']} (draw: {', '.join(filter(None, (draw, words)))})"
            raise Rejected(row["kind"], said, {"draw": draw, **row["figures"]})
    worst = max(rows, key=lambda row: row["figures"].get("share_of_limit") or 0.0, default=None)
    return {} if worst is None else dict(worst["figures"])
