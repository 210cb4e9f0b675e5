"""Serve a running service over HTTP until the process is interrupted (`web` has the protocol).

Bound to this host alone by default; elsewhere only with a token.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing
from ipaddress import ip_address

from kernelwright.core.errors import EnvironmentFault, UsageError
from kernelwright.service import cluster
from kernelwright.service.client import TOKEN_VARIABLE
from kernelwright.service.service import VerdictService

GRACE_S = 2
"""For calls that wait when the server is to end."""


def check_address(host: str, token: str | None) -> None:
    """UsageError where others could reach a service that has no token."""
    if token is None and not _is_loopback(host):
        raise UsageError(
            f"host '{host}' can be reached by others, and there is no token; "
            f"set {TOKEN_VARIABLE} to a long random text, or bind to 127.0.0.1"
        )


def serve(
    service: VerdictService, host: str, port: int, token: str | None, on_ready: Callable[[str], None]
) -> None:
    """Answer at `host` and `port` (0: any that is free); `on_ready` hears the URL.

    UsageError without a token where one is needed; EnvironmentFault if the port cannot be had.
    """
    check_address(host, token)
    cluster.require("starlette", "uvicorn")
    import uvicorn

    from kernelwright.service.web import Front

    with closing(_listening(host, port)) as listener:
        config = uvicorn.Config(
            Front(service.coordinator, token).application(),
            log_level="warning",
            lifespan="off",
            timeout_graceful_shutdown=GRACE_S,
        )
        name = f"[{host}]" if ":" in host else host
        on_ready(f"http://{name}:{listener.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot listen at {host} port {port}: {error.strerror or error}; choose another --port or --host"
        ) from error


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
