"""`Request`: what a client asks for, `Entry`: the same once it was read, and the ticket of both.

A ticket is a content hash: of problem, kernel, target, level, contract and method. Whoever asks the same
question gets the same ticket, so asking again, after a crash or a lost connection, does nothing twice.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.measurement import METHOD_VERSION
from kernelwright.core.problem import CONTRACT_VERSION, Problem
from kernelwright.core.target import Target
from kernelwright.core.verdict import Level
from kernelwright.core.wire import Wire, content_hash

W = TypeVar("W", bound=Wire)

MAX_SOURCES, MAX_TEXT = 16, 1 << 20
"""Source files of one kernel, and characters of one text."""
LOWEST, HIGHEST = -9, 9
HELD_OUT_PRIORITY = LOWEST - 1
"""Below all that clients may ask for."""


class Request(Wire):
    """One kernel to be judged on one problem."""

    problem: str = Field(min_length=1, max_length=MAX_TEXT)
    """Text of a problem file in KernelBench form. It runs with the service's rights."""
    kernel: tuple[Source, ...] = Field(min_length=1, max_length=MAX_SOURCES)
    """The kernel's file (`.cpp`, `.cu`, `.py` or `.json`, by its name), then the files that it includes."""
    target: str | None = None
    """`cpu`, `cuda` or `cuda:sm_90`: a service for another one refuses; None: the service's own."""
    level: Level = "quick"
    """How much is checked."""
    priority: int = Field(default=0, ge=LOWEST, le=HIGHEST)
    """Higher ones are judged first."""
    client: str = Field(default="", max_length=64)
    """Who asks, in any words: a ticket is cancelled once everybody who asked for it has said so."""


class Entry(Wire):
    """A request that was read and accepted: what the journal keeps until it is answered."""

    ticket: str
    problem: str
    """Hash."""
    kernel: Kernel
    level: Level
    priority: int
    clients: tuple[str, ...] = ()
    """Who wants it; none for a held-out judgement."""
    created: float = Field(default_factory=time.time)
    """Unix seconds."""
    held_out: bool = False
    """Judged for the service's own records; no client is told."""


def ticket_of(problem: Problem, kernel: Kernel, target: Target, level: Level, *, held_out: bool) -> str:
    """`v-` and 32 hex digits; `h-` for a held-out judgement."""
    parts = [problem.hash, kernel.hash, target.name, target.arch, level, CONTRACT_VERSION, METHOD_VERSION]
    return ("h-" if held_out else "v-") + content_hash(parts)


def parsed(kind: type[W], document: Mapping[str, Any] | str | bytes) -> W:
    """The noun that a client's document holds; UsageError names the first field that does not fit."""
    try:
        if isinstance(document, str | bytes):
            return kind.model_validate_json(document)
        return kind.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        fields = ", ".join(kind.model_fields)
        raise UsageError(f"{kind.__name__.lower()}: {where}: {first['msg']}; fields: {fields}") from error
