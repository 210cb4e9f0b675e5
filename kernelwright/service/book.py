"""`Book`: every ticket that has not ended, the queue of those that wait, and where the rest is kept.

    accept ▶ journal ▶ queue ▶ [a driver has it] ▶ store ▶ journal ▶ whoever waits

A request is in the journal before its client hears of it, and a verdict is in the store before anybody hears
of it. In between a ticket is in the queue or with one driver. Used from one thread, that of an event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from itertools import pairwise
from statistics import median

from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.trial import Evaluation
from kernelwright.service.answer import Answer, Receipt, RedactedAnswer, State
from kernelwright.service.journal import Journal
from kernelwright.service.queue import Queue
from kernelwright.service.records import Records
from kernelwright.service.redacted import drawn_for_holding_out, redacted
from kernelwright.service.request import HELD_OUT_PRIORITY, Entry, Request, ticket_of
from kernelwright.service.settings import ABOVE, Settings
from kernelwright.service.ticketed import Ticketed

SHORTEST_S, LONGEST_S = 1.0, 30.0
"""What a client is told to wait when the queue is full."""


class Book:
    """Tickets and what becomes of them."""

    def __init__(self, settings: Settings) -> None:
        """Open store and journal, and queue what the journal holds; raises what these do."""
        self.settings = settings
        self.target = settings.where
        self.records = Records(settings.store, self.target)
        self.queue = Queue(settings.capacity)
        self.counts: Counter[str] = Counter()
        """Tickets by how they ended; `known`: requests answered from the store."""
        self._journal = Journal.open(settings.journal_path)
        self._tickets: dict[str, Ticketed] = {}
        self._more = asyncio.Event()
        self._ends: deque[float] = deque([time.monotonic()], maxlen=50)
        for entry in list(self._journal.pending.values()):
            if self.records.evaluation(entry.ticket) is not None:  # killed between store and journal
                self._journal.end(entry.ticket, "done")
            else:
                self._queue_up(Ticketed(entry, self._journal.problems[entry.problem]))

    def accept(self, request: Request, problem: Problem, kernel: Kernel) -> Receipt:
        """The ticket of a request, which is queued unless it is known or the queue is full."""
        ticket = ticket_of(problem, kernel, self.target, request.level, held_out=False)
        known = self._tickets.get(ticket)
        if known is not None:
            self._join(known, request)
            return Receipt(ticket=ticket, state=known.state)
        if self.records.evaluation(ticket) is not None:
            self.counts["known"] += 1
            return Receipt(ticket=ticket, state="done")
        if self.queue.full:
            return self.refusal()
        entry = Entry(
            ticket=ticket,
            problem=problem.hash,
            kernel=kernel,
            level=request.level,
            priority=request.priority,
            clients=(request.client,),
        )
        self._journal.add(entry, problem)
        self._queue_up(Ticketed(entry, problem))
        return Receipt(ticket=ticket, state="queued")

    def refusal(self) -> Receipt:
        """That the queue is full, and when a place should be free."""
        gaps = [after - before for before, after in pairwise(self._ends)]
        wait_s = min(max(median(gaps or [0.0]), SHORTEST_S), LONGEST_S)
        return Receipt(ticket=None, state="refused", retry_after_s=wait_s)

    def waiting(self, ticket: str) -> Ticketed | None:
        """A client's ticket that has not ended."""
        one = self._tickets.get(ticket)
        return None if one is None or one.entry.held_out else one

    def answer(self, ticket: str, waited_for: Ticketed | None = None) -> Answer | RedactedAnswer:
        """What a client is told of a ticket, or of one that it waited for; UsageError if it is unknown."""
        if waited_for is not None and waited_for.state == "cancelled":
            return self._shown(Answer(ticket=ticket, state="cancelled"))
        return self._shown(self._answer(ticket))

    def cancel(self, ticket: str, client: str) -> Answer | RedactedAnswer:
        """A client no longer wants it: it ends once nobody does, unless it is being judged."""
        one = self.waiting(ticket)
        if one is None or client not in one.entry.clients:
            return self.answer(ticket)
        left = tuple(each for each in one.entry.clients if each != client)
        if not left and one.state != "judging":
            self._end(one, "cancelled")
            return self.answer(ticket, one)
        self._change(one, one.entry.model_copy(update={"clients": left}))
        return self.answer(ticket)

    async def take(self, problem: str | None, *, wait: bool) -> Ticketed | None:
        """The next ticket for a lane that has this problem's workers open; None if there is none."""
        while (entry := self.queue.take(problem)) is None:
            if not wait:
                return None
            self._more.clear()
            await self._more.wait()
        return self._tickets[entry.ticket]

    def give_back(self, one: Ticketed) -> None:
        """Put a ticket that a driver had back into the queue."""
        if not one.has_ended:
            self._queue_up(one)

    def done(self, one: Ticketed, evaluation: Evaluation) -> None:
        """Keep a verdict, then tell whoever waits."""
        self._ends.append(time.monotonic())
        self.records.keep(one.entry, one.problem, evaluation)
        if not one.has_ended:
            self._end(one, "done")
        self._hold_out(one, evaluation)

    def unjudged(self, one: Ticketed, why: str) -> None:
        """Say why a ticket has no verdict."""
        if not one.has_ended:
            self._end(one, "unjudged", why)

    def close(self) -> None:
        """Let go of store and journal; what has not ended stays in the journal."""
        self._journal.close()
        self.records.close()

    def _answer(self, ticket: str) -> Answer:
        one = self.waiting(ticket)
        if one is not None:
            return Answer(ticket=ticket, state=one.state, ahead=self.queue.ahead(ticket))
        found = self.records.evaluation(ticket) if ticket.startswith("v-") else None
        if found is not None and self._may_tell(found):
            return Answer(ticket=ticket, state="done", evaluation=found)
        if ticket in self._journal.unjudged and ticket.startswith("v-"):
            return Answer(ticket=ticket, state="unjudged", message=self._journal.unjudged[ticket])
        raise UsageError(f"no ticket '{ticket}' here, or it was cancelled; submit the request (again)")

    def _may_tell(self, found: Evaluation) -> bool:
        """Other levels than the told one are what is held out."""
        level = found.verdict.level if found.verdict is not None else None
        return not self.settings.redacted or level == self.settings.level

    def _shown(self, answer: Answer) -> Answer | RedactedAnswer:
        return redacted(answer) if self.settings.redacted else answer

    def _join(self, one: Ticketed, request: Request) -> None:
        """One more client wants it, perhaps sooner."""
        entry = one.entry
        clients = tuple(dict.fromkeys([*entry.clients, request.client]))
        priority = max(entry.priority, request.priority)
        if (clients, priority) != (entry.clients, entry.priority):
            self._change(one, entry.model_copy(update={"clients": clients, "priority": priority}))

    def _change(self, one: Ticketed, entry: Entry) -> None:
        one.entry = entry
        self._journal.add(entry, one.problem)
        if entry.ticket in self.queue:
            self.queue.put(entry)

    def _queue_up(self, one: Ticketed) -> None:
        one.state = "queued"
        self._tickets[one.entry.ticket] = one
        self.queue.put(one.entry)
        self._more.set()

    def _end(self, one: Ticketed, state: State, message: str = "") -> None:
        self._journal.end(one.entry.ticket, state, message)
        self.queue.drop(one.entry.ticket)
        self._tickets.pop(one.entry.ticket, None)
        self.counts[state] += not one.entry.held_out
        one.state = state
        one.ended.set()

    def _hold_out(self, one: Ticketed, evaluation: Evaluation) -> None:
        """Queue a judgement one level up that no client is told of, for a share of what was accepted."""
        settings, entry = self.settings, one.entry
        accepted = evaluation.verdict is not None and evaluation.verdict.verdict == "accepted"
        if not settings.redacted or entry.held_out or not accepted or self.queue.full:
            return
        if not drawn_for_holding_out(settings.held_out_share):
            return
        level = ABOVE[entry.level]
        ticket = ticket_of(one.problem, entry.kernel, self.target, level, held_out=True)
        again = Entry(
            ticket=ticket,
            problem=entry.problem,
            kernel=entry.kernel,
            level=level,
            priority=HELD_OUT_PRIORITY,
            held_out=True,
        )
        self._journal.add(again, one.problem)
        self._queue_up(Ticketed(again, one.problem))
