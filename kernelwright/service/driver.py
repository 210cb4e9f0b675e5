"""`Driver`: one lane at work. It takes requests, has them compiled, has them judged, and watches the lane.

On a CPU what was taken together is compiled before anything of it is timed, because compilers would disturb
the clock; on a GPU the next ones are compiled meanwhile. A failure that is no kernel's is looked into with
a kernel that is known to be right: if that passes, the request is tried once more; if it fails `strikes`
times in a row, the lane is quarantined, and what it had taken goes back into the queue.
"""

from __future__ import annotations

import asyncio
from typing import Any

from kernelwright.core.errors import KernelwrightError, first_line
from kernelwright.core.kernel import Build
from kernelwright.service import cluster
from kernelwright.service.answer import LaneStatus
from kernelwright.service.book import Book
from kernelwright.service.cluster import Place, answered
from kernelwright.service.ticketed import Outcome, Ticketed

ATTEMPTS = 2
"""Judgements of one request that may fail on sound lanes."""
PAUSE_S = 0.5
"""Between two runs of the known-good kernel."""
CHECK_S, BUILD_S = 300.0, 600.0

_Compiling = asyncio.Task[tuple[Build | None, str]]


class Driver:
    """Drives the lane at one place until it is quarantined."""

    def __init__(self, place: Place, book: Book) -> None:
        self.place = place
        self.reason = ""
        """Why it takes no more work."""
        self._book = book
        self._ahead = book.settings.ahead or place.cores
        self._window: list[tuple[Ticketed, _Compiling]] = []
        """What was taken, and the builds that were begun."""
        self._problem: str | None = None
        """Hash of the problem that the lane judged last."""
        self._name = f"{place.node[:8]} {book.target.name}{place.number if place.gpu else ''}"
        self._now: Ticketed | None = None
        self._started = False
        self._judged = 0
        self._lane: Any = None

    @property
    def status(self) -> LaneStatus:
        """The lane as it is now."""
        if self.reason:
            return LaneStatus(name=self._name, state="quarantined", reason=self.reason, judged=self._judged)
        busy = self._now is not None or bool(self._window)
        state = "working" if busy else "idle" if self._started else "starting"
        return LaneStatus.model_validate({"name": self._name, "state": state, "judged": self._judged})

    async def run(self) -> None:
        """Work until the lane is quarantined; whatever happens, nothing that was taken is lost."""
        work = asyncio.create_task(self._work())
        try:
            await asyncio.wait([work])
            failure = work.exception()
            if failure is not None:
                ours = isinstance(failure, KernelwrightError)
                said = first_line(failure) if ours else f"{type(failure).__name__}: {first_line(failure)}"
                self.reason = f"the lane's driver failed: {said}"
        finally:
            work.cancel()
            self._give_up()

    def _give_up(self) -> None:
        """Put back what was taken, and end the lane's process."""
        for one in [self._now, *(taken for taken, _ in self._window)]:
            if one is not None:
                self._book.give_back(one)
        for _, compiling in self._window:
            compiling.cancel()
        self._window, self._now = [], None
        if self._lane is not None:
            cluster.end(self._lane)

    async def _work(self) -> None:
        self._renew()
        if await self._is_sound():
            name, _ = await answered(self._lane.call.remote("about"), CHECK_S)
            self._name = name or self._name
            self._started = True
        while not self.reason:
            await self._fill()
            await self._next()

    async def _fill(self) -> None:
        """Take requests and begin to compile them; waits for the first if there is none."""
        on_cpu = self._book.target.name == "cpu"
        if self._window and on_cpu:
            return
        while len(self._window) < self._ahead:
            one = await self._book.take(self._problem, wait=not self._window)
            if one is None:
                break
            one.state = "building"
            self._window.append((one, asyncio.create_task(self._compiled(one))))
        if on_cpu:
            await asyncio.wait([build for _, build in self._window])

    async def _compiled(self, one: Ticketed) -> tuple[Build | None, str]:
        """The build of a kernel, or why the compiler did not come to an end."""
        try:
            asked = cluster.build_at(self.place, one.entry.kernel, self._book.target)
            build, fault = await answered(asked, BUILD_S)
        except KernelwrightError as error:
            return None, str(error)
        return build, f"compiling: {fault}" if fault else ""

    async def _next(self) -> None:
        self._now, compiling = self._window.pop(0)
        if self._now.has_ended:
            self._now = None
            return
        outcome = await self._outcome(self._now, compiling)
        if outcome.evaluation is not None:
            self._judged += 1
            self._problem = self._now.entry.problem
            self._book.done(self._now, outcome.evaluation)
        elif outcome.by_request:
            self._book.unjudged(self._now, outcome.fault)
        else:
            await self._look_into(self._now, outcome.fault)
        self._now = None

    async def _outcome(self, one: Ticketed, compiling: _Compiling) -> Outcome:
        """Build and judgement; a fault of the machine is data here."""
        build, fault = await compiling
        if build is None:
            return Outcome(fault=fault)
        if one.has_ended:  # it was cancelled while it was compiled
            return Outcome(fault="cancelled", by_request=True)
        return await self._judgement(one, build)

    async def _judgement(self, one: Ticketed, build: Build) -> Outcome:
        one.state = "judging"
        asked = self._lane.call.remote("judge", one.problem, one.entry.kernel, build, one.entry.level)
        outcome, fault = await answered(asked, self._book.settings.limit_s)
        if fault:
            self._renew()
            return Outcome(fault=fault)
        assert isinstance(outcome, Outcome)
        return outcome

    async def _look_into(self, one: Ticketed, fault: str) -> None:
        """Whose fault was it: the lane's or the request's?"""
        if await self._is_sound():
            one.faults += 1
            if one.faults >= ATTEMPTS:
                self._book.unjudged(one, fault)
                return
        self._book.give_back(one)

    async def _is_sound(self) -> bool:
        """Whether a kernel that is known to be right passes here; if not, the lane is quarantined."""
        why = ""
        for attempt in range(self._book.settings.strikes):
            if attempt:
                await asyncio.sleep(PAUSE_S)
            said, fault = await answered(self._lane.call.remote("check"), CHECK_S)
            why = fault or said
            if not why:
                return True
            if fault:
                self._renew()
        strikes = self._book.settings.strikes
        self.reason = f"a kernel known to be right failed {strikes} times in a row: {why}"
        return False

    def _renew(self) -> None:
        """A fresh process for the lane."""
        if self._lane is not None:
            cluster.end(self._lane)
        self._lane = cluster.lane_at(self.place, self._book.settings.desk, self._book.target)
