"""`Intake`: requests are refused or read before they get a ticket.

Reading happens in a process of its own (`reader`), one request at a time: a problem's source runs there. A
source that does not come to an end takes that process with it and nothing else.
"""

from __future__ import annotations

import asyncio
from typing import Any

from kernelwright.core.errors import ProblemError, UsageError
from kernelwright.core.kernel import Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.service import cluster
from kernelwright.service.request import Request
from kernelwright.service.settings import Settings

READ_S = 120.0
"""Longest that reading one request may take."""
AT_ONCE = 64
"""Requests that may wait to be read."""


class Intake:
    """Reads requests for one service."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._allowed = {text.strip() for text in settings.problems}
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._reader: Any = None

    @property
    def full(self) -> bool:
        """Whether as many wait as may."""
        return self._waiting >= AT_ONCE

    async def read(self, request: Request) -> tuple[Problem, Kernel]:
        """What a request is about; UsageError if it does not fit this service or cannot be read."""
        self._check(request)
        self._waiting += 1
        try:
            async with self._turn:
                return await self._read(request)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the process."""
        if self._reader is not None:
            cluster.end(self._reader)
            self._reader = None

    def _check(self, request: Request) -> None:
        own, settings = self._settings.where, self._settings
        if request.target is not None and Target.parse(request.target) != own:
            raise UsageError(
                f"target '{request.target}' was asked for, this service judges for '{settings.target}'; "
                "leave it out, or ask another service"
            )
        if self._allowed and request.problem.strip() not in self._allowed:
            raise UsageError(
                f"this problem is none of the {len(self._allowed)} that this service was started with; "
                "send the text of one of them unchanged"
            )
        if settings.redacted and request.level != settings.level:
            raise UsageError(
                f"level '{request.level}' was asked for, this service tells only '{settings.level}'; "
                "ask for that"
            )

    async def _read(self, request: Request) -> tuple[Problem, Kernel]:
        if self._reader is None:
            self._reader = cluster.reader(self._settings.where)
        asked = self._reader.call.remote("read", request.problem, request.kernel)
        found, fault = await cluster.answered(asked, READ_S)
        if fault:
            self.close()
            raise ProblemError(
                f"the request cannot be read: {fault}; check the problem with `kernelwright diagnose` first"
            )
        problem, kernel = found
        assert isinstance(problem, Problem) and isinstance(kernel, Kernel)
        return problem, kernel
