"""`VerdictService`: the library's face of the service, for programs that are part of its Ray cluster.

    with VerdictService.start(Settings(target="cpu")) as service:
        receipt = service.submit(problem_text, sources)
        answer = service.result(receipt.ticket, wait_s=60)

`connect` reaches a service that another program started. Programs outside the cluster use `Client`.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from kernelwright.core.errors import EnvironmentFault, KernelwrightError
from kernelwright.core.kernel import Source
from kernelwright.core.verdict import Level
from kernelwright.service import cluster
from kernelwright.service.answer import Answer, HeldOut, Receipt, RedactedAnswer, Status
from kernelwright.service.patience import until_accepted
from kernelwright.service.request import Request, parsed
from kernelwright.service.settings import Settings

CALLS_AT_ONCE = 4000
"""Calls that wait in the coordinator, most of them for results."""


class VerdictService:
    """A running service. Made by `start` or `connect`."""

    def __init__(self, coordinator: Any, *, own: bool) -> None:
        self.coordinator = coordinator
        """The Ray actor; its methods are awaitable."""
        self._own = own
        self._client = uuid.uuid4().hex[:16]

    @classmethod
    def start(cls, settings: Settings, address: str | None = None) -> VerdictService:
        """Start a service in the Ray cluster at `address`, or in one of its own on this host.

        UsageError for settings that do not fit together; EnvironmentFault without Ray, or where one runs.
        """
        settings = settings.checked()
        cluster.join(address)
        coordinator = cluster.coordinator(settings, CALLS_AT_ONCE)
        service = cls(coordinator, own=True)
        try:
            service._ask(coordinator.start.remote())
        except KernelwrightError:
            cluster.end(coordinator)
            raise
        return service

    @classmethod
    def connect(cls, address: str = "auto") -> VerdictService:
        """The service of the Ray cluster at `address`; EnvironmentFault if there is none."""
        cluster.join(address)
        return cls(cluster.running_coordinator(), own=False)

    def submit(
        self,
        problem: str,
        kernel: Sequence[Source],
        *,
        target: str | None = None,
        level: Level = "quick",
        priority: int = 0,
        wait_s: float = 0.0,
    ) -> Receipt:
        """Ask for a verdict on a kernel (its file, then what it includes) for a problem (its text).

        Where the queue is full, tries again for `wait_s`, then EnvironmentFault says when to come back.
        """
        document = {
            "problem": problem, "kernel": list(kernel), "target": target, "level": level,
            "priority": priority, "client": self._client,
        }  # fmt: skip
        request = parsed(Request, document)
        return until_accepted(lambda: self._ask(self.coordinator.submit.remote(request)), wait_s)

    def result(self, ticket: str, wait_s: float = 0.0) -> Answer | RedactedAnswer:
        """What is known of a ticket, once it has ended or `wait_s` has passed; UsageError if unknown."""
        found: Answer | RedactedAnswer = self._ask(self.coordinator.result.remote(ticket, wait_s))
        return found

    def cancel(self, ticket: str) -> Answer | RedactedAnswer:
        """Say that this client no longer wants it; it ends once nobody does."""
        found: Answer | RedactedAnswer = self._ask(self.coordinator.cancel.remote(ticket, self._client))
        return found

    def status(self) -> Status:
        """The service as it is now."""
        found: Status = self._ask(self.coordinator.status.remote())
        return found

    def held_out(self) -> HeldOut:
        """What held-out judgements found; for the operator alone."""
        found: HeldOut = self._ask(self.coordinator.held_out.remote())
        return found

    def close(self) -> None:
        """End the service if this program started it; what was not judged waits in its journal."""
        if self._own:
            self._own = False
            self._ask(self.coordinator.stop.remote())
            cluster.end(self.coordinator)

    def __enter__(self) -> VerdictService:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def _ask(reference: Any) -> Any:
        found, fault = cluster.answer_of(reference)
        if fault:
            raise EnvironmentFault(
                f"the verdict service does not answer: {fault}; start it again, then ask again"
            )
        return found
