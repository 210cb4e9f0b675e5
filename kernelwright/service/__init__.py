"""Verdicts for many clients: a queue, a lane for each device, compilers beside them, on Ray.

    service = VerdictService.start(Settings(target="cpu"))
    receipt = service.submit(problem_text, (Source(path="kernel.cpp", text=text),))
    answer = service.result(receipt.ticket, wait_s=60)

Design: docs/design/verdict-service.md. Ray, starlette and uvicorn come with the extra `service`; only
`cluster`, `coordinator` and `web` import them. Names are loaded when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelwright.service.answer import Answer, Receipt, RedactedAnswer, Status
    from kernelwright.service.client import Client
    from kernelwright.service.request import Request
    from kernelwright.service.service import VerdictService
    from kernelwright.service.settings import Settings

__all__ = [
    "Answer",
    "Client",
    "Receipt",
    "RedactedAnswer",
    "Request",
    "Settings",
    "Status",
    "VerdictService",
]

_LAZY = {
    "Answer": "answer",
    "Client": "client",
    "Receipt": "answer",
    "RedactedAnswer": "answer",
    "Request": "request",
    "Settings": "settings",
    "Status": "answer",
    "VerdictService": "service",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"kernelwright.service.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'kernelwright.service' has no attribute '{name}'")
