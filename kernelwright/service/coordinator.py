"""`Coordinator`: the process that knows every ticket: an asynchronous Ray actor around the book.

Clients and the web front call it; it keeps a driver for each lane. When it dies, Ray starts it again, lanes
die with it, and it goes on with what the journal holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from kernelwright.core.errors import InternalFault
from kernelwright.service import cluster
from kernelwright.service.answer import Answer, HeldOut, Receipt, RedactedAnswer, Status
from kernelwright.service.book import Book
from kernelwright.service.driver import Driver
from kernelwright.service.intake import Intake
from kernelwright.service.request import Request
from kernelwright.service.settings import Settings

SURVEY_S = 15.0
"""Between two looks for hosts that have joined."""


class Coordinator:
    """Book, intake and drivers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: Book | None = None
        self._intake = Intake(settings)
        self._drivers: dict[str, Driver] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Open the book and begin to work; once. StoreError, EnvironmentFault, UsageError as `Book`."""
        if self._opened is None:
            self._opened = Book(self._settings)
            self._begin(self._survey())

    async def submit(self, request: Request) -> Receipt:
        """A ticket, or when to ask again. UsageError for a request that does not fit."""
        book = await self._book()
        if self._intake.full:
            return book.refusal()
        return book.accept(request, *await self._intake.read(request))

    async def result(self, ticket: str, wait_s: float = 0.0) -> Answer | RedactedAnswer:
        """What is known of a ticket, once it has ended or `wait_s` has passed; UsageError if unknown."""
        book = await self._book()
        one = book.waiting(ticket)
        if one is not None and wait_s > 0:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(one.ended.wait(), wait_s)
        answer = book.answer(ticket, one)
        if answer.state == "queued" and self._stalled and not self._settings.redacted:
            return answer.model_copy(update={"message": self._stalled})
        return answer

    async def cancel(self, ticket: str, client: str = "") -> Answer | RedactedAnswer:
        """A client no longer wants this; what is known of it then."""
        return (await self._book()).cancel(ticket, client)

    async def status(self) -> Status:
        """The service as it is now."""
        book = await self._book()
        return Status(
            target=book.target,
            redacted=self._settings.redacted,
            level=self._settings.level if self._settings.redacted else None,
            queued=len(book.queue),
            capacity=book.queue.capacity,
            lanes=tuple(driver.status for driver in self._drivers.values()),
            done=book.counts["done"],
            cancelled=book.counts["cancelled"],
            unjudged=book.counts["unjudged"],
            known=book.counts["known"],
        )

    async def held_out(self) -> HeldOut:
        """What held-out judgements found; for the operator alone."""
        return (await self._book()).records.held_out()

    async def stop(self) -> None:
        """End the lanes; what was not judged stays in the journal."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._intake.close()
        if self._opened is not None:
            self._opened.close()

    @property
    def _stalled(self) -> str:
        """Why nothing is taken from the queue; empty if a lane works."""
        reasons = [driver.reason for driver in self._drivers.values()]
        return f"no lane takes work: {reasons[0]}" if reasons and all(reasons) else ""

    async def _book(self) -> Book:
        """The book; opened here where Ray has started this process again."""
        await self.start()
        if self._opened is None:
            raise InternalFault("the coordinator started without a book")
        return self._opened

    async def _survey(self) -> None:
        """Keep a driver for each place, also on hosts that join later."""
        book = await self._book()
        while True:
            for place in cluster.places(book.target):
                key = f"{place.node} {place.number}"
                if key not in self._drivers:
                    self._drivers[key] = Driver(place, book)
                    self._begin(self._drivers[key].run())
            await asyncio.sleep(SURVEY_S)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
