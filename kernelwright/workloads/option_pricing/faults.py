"""What is done about options that have no answer: `on_error` is "raise", "warn" or "ignore".

Whatever is chosen, such an option's result is NaN and all others are right. A message names the first
position of the first kind of fault, how many there are, and what is allowed.
"""

from __future__ import annotations

import ctypes as c
import warnings
from collections.abc import Sequence
from typing import Any, Literal

from kernelwright.core.errors import UsageError, did_you_mean

OnError = Literal["raise", "warn", "ignore"]
POLICIES = ("raise", "warn", "ignore")
KINDS = (
    "is not an option: underlying and strike must be positive and finite, time and volatility not negative "
    "(time positive for an implied volatility), the flag call or put, and nothing NaN",
    "has a price below its intrinsic value, so no volatility explains it",
    "has a price at or above its bound (a call's is the discounted forward, a put's the discounted strike), "
    "so no finite volatility explains it",
)


INVALID, TOTAL = 0, 2 * len(KINDS)
"""In what a kernel reports: where the count of the first kind stands, and the count of all."""
FAULT_WORDS = TOTAL + 1


class OptionWarning(UserWarning):
    """Some options have no answer; theirs is NaN."""


def unknown_policy(on_error: Any) -> UsageError:
    """What to raise for an `on_error` that is none of `POLICIES`."""
    return UsageError(f"on_error is {on_error!r}; {did_you_mean(str(on_error), POLICIES)}")


def settle(faults: c.Array[c.c_int64], on_error: str) -> None:
    """Raise, warn or do nothing about a kernel's report: counts by kind, first positions by kind, total."""
    if on_error == "ignore":
        return
    counts, positions = faults[: len(KINDS)], faults[len(KINDS) : TOTAL]
    kind = min((k for k, count in enumerate(counts) if count), key=lambda k: positions[k])
    message = f"option {positions[kind]} {KINDS[kind]}; {_counted(counts)}"
    if on_error == "raise":
        raise UsageError(f"{message}; correct it, or give on_error='ignore' to get NaN there")
    warnings.warn(message, OptionWarning, stacklevel=5)


def _counted(counts: Sequence[int]) -> str:
    names = ("not options", "below intrinsic", "at or above the bound")
    return ", ".join(f"{count} {name}" for count, name in zip(counts, names, strict=True) if count)
