"""The service for programs outside its Ray cluster: HTTP with JSON, an application for any ASGI server.

    POST   /v1/verdicts             a `Request`; 202 and a `Receipt`, 200 if its verdict is known, 429 if full
    GET    /v1/verdicts/TICKET      an `Answer`; `?wait_s=30` waits for its end
    DELETE /v1/verdicts/TICKET      `?client=NAME` no longer wants it
    GET    /v1/status               a `Status`

An error is `{"error": "one line"}`. Requests carry `Authorization: Bearer TOKEN` where the service has a
token. A page in a browser cannot reach a service without one: requests need the type `application/json`,
and the name in `Host` must be this host's. It keeps nothing, so a front that dies loses nothing.

Not covered: encryption. Between hosts, put it behind a proxy that does, or in a tunnel.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request as Call
from starlette.responses import Response
from starlette.routing import Route

from kernelwright.core.errors import EnvironmentFault, KernelwrightError, UsageError
from kernelwright.core.wire import Wire
from kernelwright.service import cluster
from kernelwright.service.request import MAX_TEXT, Request, parsed
from kernelwright.store.document import dumps, to_document

MAX_BODY = 4 * MAX_TEXT
"""Bytes of one request."""
LONGEST_WAIT_S = 60.0
CALL_S = 300.0
"""Longest that the coordinator may take for anything but waiting."""
LOCAL = ("127.0.0.1", "localhost", "[::1]")
_STATUS: dict[type[KernelwrightError], int] = {UsageError: 400, EnvironmentFault: 503}

Handler = Callable[[Call], Awaitable[Response]]


class Front:
    """Handlers, and what they ask."""

    def __init__(self, coordinator: Any, token: str | None) -> None:
        """`coordinator` is the Ray actor; without a token only this host's own names are answered."""
        self._coordinator = coordinator
        self._token = token

    def application(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                Route("/v1/verdicts", self._guarded(self.submit), methods=["POST"]),
                Route("/v1/verdicts/{ticket}", self._guarded(self.result), methods=["GET"]),
                Route("/v1/verdicts/{ticket}", self._guarded(self.cancel), methods=["DELETE"]),
                Route("/v1/status", self._guarded(self.status), methods=["GET"]),
            ]
        )

    async def submit(self, call: Call) -> Response:
        """A request becomes a receipt."""
        if call.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _error("the body must be JSON, with 'Content-Type: application/json'", 415)
        body = await _body(call)
        if body is None:
            return _error(f"the body is longer than {MAX_BODY} bytes; send smaller sources", 413)
        receipt = await self._ask(self._coordinator.submit.remote(parsed(Request, body)))
        if receipt.ticket is None:
            after = f"{receipt.retry_after_s:.0f}"
            said = {**to_document(receipt), "error": f"the queue is full; try again in {after} s"}
            return _json(said, 429, {"Retry-After": after})
        return _json(to_document(receipt), 200 if receipt.state == "done" else 202)

    async def result(self, call: Call) -> Response:
        """What is known of a ticket."""
        wait_s = _seconds(call.query_params.get("wait_s", "0"))
        ticket = call.path_params["ticket"]
        return _noun(await self._ask(self._coordinator.result.remote(ticket, wait_s), wait_s))

    async def cancel(self, call: Call) -> Response:
        """A client no longer wants a ticket."""
        client = call.query_params.get("client", "")
        return _noun(await self._ask(self._coordinator.cancel.remote(call.path_params["ticket"], client)))

    async def status(self, call: Call) -> Response:
        """The service as it is now."""
        return _noun(await self._ask(self._coordinator.status.remote()))

    async def _ask(self, reference: Any, wait_s: float = 0.0) -> Any:
        found, fault = await cluster.answered(reference, CALL_S + wait_s)
        if fault:
            raise EnvironmentFault(f"the service does not answer: {fault}; try again in a moment")
        return found

    def _guarded(self, handler: Handler) -> Handler:
        """The handler behind the token; an error of ours becomes one line."""

        async def guarded(call: Call) -> Response:
            refused = self._refused(call)
            if refused is not None:
                return refused
            try:
                return await handler(call)
            except KernelwrightError as error:
                status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
                return _error(str(error), status)

        return guarded

    def _refused(self, call: Call) -> Response | None:
        if self._token is None:
            host = call.headers.get("host", "")
            name = host.rpartition(":")[0] or host if not host.endswith("]") else host
            return None if name in LOCAL else _error(f"'{host}' is not this host; use {LOCAL[0]}", 403)
        given = call.headers.get("authorization", "").removeprefix("Bearer ")
        if hmac.compare_digest(given.encode(), self._token.encode()):
            return None
        return _error("a token is needed: 'Authorization: Bearer TOKEN', as the service was given it", 401)


async def _body(call: Call) -> bytes | None:
    """All of the body; None if it is too long."""
    parts, size = [], 0
    async for part in call.stream():
        size += len(part)
        if size > MAX_BODY:
            return None
        parts.append(part)
    return b"".join(parts)


def _seconds(text: str) -> float:
    try:
        given = float(text)
    except ValueError:
        given = -1.0
    if not 0 <= given <= LONGEST_WAIT_S:
        raise UsageError(
            f"wait_s '{text}': allowed are seconds from 0 to {LONGEST_WAIT_S:.0f}; ask again after"
        )
    return given


def _noun(noun: Wire) -> Response:
    return _json(to_document(noun))


def _error(message: str, status: int) -> Response:
    return _json({"error": message}, status)


def _json(document: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(dumps(document), status, headers, "application/json")
