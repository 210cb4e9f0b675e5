"""`Client`: asks a verdict service over HTTP. Standard library and pydantic only.

    client = Client("http://127.0.0.1:8421")
    receipt = client.submit(problem_text, (Source(path="kernel.cpp", text=text),), wait_s=60)
    answer = client.result(receipt.ticket, wait_s=60)

A request can be repeated: the ticket is its content's. So a client whose connection broke, or who was
killed, asks again.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Sequence
from typing import Any, TypeVar

from kernelwright.core.errors import EnvironmentFault, InternalFault, UsageError, first_line
from kernelwright.core.kernel import Source
from kernelwright.core.verdict import Level
from kernelwright.core.wire import Wire
from kernelwright.service.answer import ENDED, Answer, Receipt, RedactedAnswer, Status
from kernelwright.service.patience import until_accepted
from kernelwright.service.request import Request, parsed
from kernelwright.store.document import from_document

W = TypeVar("W", bound=Wire)

TOKEN_VARIABLE = "KERNELWRIGHT_SERVICE_TOKEN"
SLICE_S = 30.0
"""Longest single wait for a result; longer ones are made of these."""
CALL_S = 330.0


class Client:
    """One client of one service; its random name is what `cancel` takes back."""

    def __init__(self, url: str, token: str | None = None) -> None:
        """`token`: None takes KERNELWRIGHT_SERVICE_TOKEN from the environment. UsageError for no http URL."""
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"service '{url}' is no URL; write one like http://127.0.0.1:8421")
        self._url = url.rstrip("/")
        self._token = token if token is not None else os.environ.get(TOKEN_VARIABLE)
        self._name = uuid.uuid4().hex[:16]

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
            "priority": priority, "client": self._name,
        }  # fmt: skip
        body = parsed(Request, document).model_dump_json().encode()
        return until_accepted(lambda: self._noun(Receipt, self._call("POST", "/v1/verdicts", body)), wait_s)

    def result(self, ticket: str, wait_s: float = 0.0) -> Answer | RedactedAnswer:
        """What is known of a ticket, once it has ended or `wait_s` has passed; UsageError if unknown."""
        end = time.monotonic() + wait_s
        while True:
            left_s = max(0.0, min(end - time.monotonic(), SLICE_S))
            found = self._answer(self._call("GET", f"{_path(ticket)}?wait_s={left_s:.3f}"))
            if found.state in ENDED or time.monotonic() >= end:
                return found

    def cancel(self, ticket: str) -> Answer | RedactedAnswer:
        """Say that this client no longer wants it; it ends once nobody does."""
        return self._answer(self._call("DELETE", f"{_path(ticket)}?client={self._name}"))

    def status(self) -> Status:
        """The service as it is now."""
        return self._noun(Status, self._call("GET", "/v1/status"))

    def _answer(self, document: Any) -> Answer | RedactedAnswer:
        is_whole = isinstance(document, dict) and "evaluation" in document
        return self._noun(Answer, document) if is_whole else self._noun(RedactedAnswer, document)

    def _noun(self, kind: type[W], document: Any) -> W:
        return from_document(kind, document, self._url)

    def _call(self, method: str, path: str, body: bytes | None = None) -> Any:
        """The document that the service answers with; a full queue's is a receipt too."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        asked = urllib.request.Request(self._url + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=CALL_S) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                return self._refused(error.code, error.read())
        except (OSError, ValueError) as error:
            raise EnvironmentFault(
                f"no verdict service answers at {self._url}: {first_line(error)}; "
                "start one with `kernelwright serve-verdicts`"
            ) from error

    def _refused(self, status: int, body: bytes) -> Any:
        try:
            document = json.loads(body)
            said = document.pop("error")
        except (ValueError, KeyError, AttributeError):
            said, document = f"status {status}, which is no answer of a verdict service", {}
        if status == 429 and document:
            return document
        if status in (401, 403):
            raise UsageError(f"{self._url}: {said}; set {TOKEN_VARIABLE}")
        if status < 500:
            raise UsageError(said)
        raise (EnvironmentFault if status == 503 else InternalFault)(f"{self._url}: {said}")


def _path(ticket: str) -> str:
    return f"/v1/verdicts/{urllib.parse.quote(ticket, safe='')}"
