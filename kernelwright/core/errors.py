"""Every error that Kernelwright raises, by the boundary that was crossed.

    KernelwrightError            base; carries the process exit code
    ├── UsageError          2    the user asked for something that does not fit: bad path, option, inputs
    │   └── ProblemError    2    the problem cannot be loaded or its reference does not run
    ├── EnvironmentFault    4    the machine lacks something: compiler, GPU, disk space, permission
    │   └── StoreError      4    the trial store cannot be read or written
    └── InternalFault       1    our own fault: a worker protocol broke, an invariant does not hold

A bad *kernel* is data (a `Build`, a `Verdict`), never an exception. A message is one line:
what was given, what is allowed, and the next step.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from traceback import TracebackException


class ExitCode(IntEnum):
    """What the process exit code means."""

    DONE = 0
    """The command did its work (also: nothing faster was found)."""
    FAULT = 1
    """Kernelwright's own fault."""
    USAGE = 2
    """The request does not fit: a path, an option, a problem file."""
    REJECTED = 3
    """`verify` rejected the kernel."""
    ENVIRONMENT = 4
    """The machine lacks something: a compiler, a GPU, space, a permission."""
    INTERRUPTED = 130
    """Ctrl-C; what was found so far was kept."""


class KernelwrightError(Exception):
    """Base of all errors; `exit_code` is what the command line returns."""

    exit_code = ExitCode.FAULT


class UsageError(KernelwrightError):
    """The user's request does not fit."""

    exit_code = ExitCode.USAGE


class ProblemError(UsageError):
    """The problem cannot be loaded, or its reference does not run."""


class EnvironmentFault(KernelwrightError):
    """The machine lacks something that the request needs."""

    exit_code = ExitCode.ENVIRONMENT


class StoreError(EnvironmentFault):
    """The trial store cannot be read or written."""


class InternalFault(KernelwrightError):
    """An invariant of Kernelwright's own does not hold."""


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or its type where it has none."""
    text = full_text(error).strip().splitlines()
    return text[0] if text else type(error).__name__


def full_text(error: BaseException) -> str:
    """An error's text, also where its own `__str__` raises."""
    return str(TracebackException.from_exception(error, limit=0))


@contextmanager
def boundary(kind: type[KernelwrightError], what: str) -> Iterator[None]:
    """Turn whatever escapes the block into `kind`, one line that begins with `what`.

    That includes `SystemExit`, and whatever else a user's code raises to end this program; an interrupt
    passes, and so does the closing of a generator. The only place, besides a worker's main loop, where
    every exception is caught.
    """
    try:
        yield
    except (KernelwrightError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        raise kind(f"{what}: {type(error).__name__}: {first_line(error)}") from error


def did_you_mean(given: str, allowed: Iterable[str]) -> str:
    """A tail for a message about an unknown name: the nearest names, and all that are allowed."""
    names = sorted(allowed)
    near = difflib.get_close_matches(given, names, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"allowed: {', '.join(names) or 'none'}{hint}"
