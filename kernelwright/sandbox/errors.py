"""What can come of a call besides its result. Candidates cause these, so callers turn them into data.

WorkerFailure
├── WorkerDied       the process ended, or broke the protocol and was killed
├── WorkerTimedOut   the call took longer than its limit; the process was killed
└── CallFailed       the function raised; the process lives on
"""

from __future__ import annotations

import signal as signals

from kernelwright.core.errors import KernelwrightError

_MEANING = {
    signals.SIGSEGV: "an invalid memory access",
    signals.SIGBUS: "an access beyond the end of a mapping",
    signals.SIGFPE: "an integer division by zero or similar",
    signals.SIGILL: "an instruction that this processor does not have",
    signals.SIGABRT: "it called abort(); see its last lines",
    signals.SIGXCPU: "its limit of processor time",
    signals.SIGKILL: "killed from outside, most often for want of memory",
    signals.SIGSYS: "a system call that is not allowed",
}


class WorkerFailure(KernelwrightError):
    """Base: a call gave no result."""


class WorkerDied(WorkerFailure):
    """The process ended during a call, or was killed because it broke the protocol."""

    def __init__(self, sentence: str, *, signal: int | None, code: int | None, stderr: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.signal = signal
        """Signal that ended it, if one did."""
        self.code = code
        """Exit code of the worker, if it exited (`exit_code` is that of the command line)."""
        self.stderr = stderr
        """Last lines of what it printed (stdout and stderr together)."""


class WorkerTimedOut(WorkerFailure):
    """The call took longer than `timeout_s`; the process and its children were killed."""

    def __init__(self, sentence: str, *, timeout_s: float, stderr: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.timeout_s = timeout_s
        self.stderr = stderr


class CallFailed(WorkerFailure):
    """The function raised. The process lives on."""

    def __init__(self, type_name: str, message: str, traceback: str) -> None:
        super().__init__(f"{type_name}: {message}" if message else type_name)
        self.type = type_name
        """Name of the exception's class in the worker."""
        self.message = message
        self.traceback = traceback


def ending(signal: int | None, code: int | None) -> str:
    """How a process ended, as the predicate of a sentence."""
    if signal is None:
        return f"exited with code {code} in the middle of a call"
    try:
        name = signals.Signals(signal).name
    except ValueError:
        name = f"signal {signal}"
    meaning = _MEANING.get(signal)  # type: ignore[call-overload]
    return f"was ended by {name}" + (f": {meaning}" if meaning else "")
