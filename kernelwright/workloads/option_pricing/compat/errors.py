"""What the drop-in surfaces raise: a `UsageError` that is also what the other library raises.

Code that catches the other library's own class goes on working: if its module is loaded, what is raised
derives from that class too.
"""

from __future__ import annotations

import ctypes as c
import sys
from typing import NoReturn

from kernelwright.core.errors import UsageError
from kernelwright.workloads.option_pricing.faults import INVALID, KINDS, TOTAL, settle


class UnknownFlag(UsageError, KeyError, ValueError):
    """A flag that is neither call nor put: KeyError in py_vollib, ValueError in fast_vollib."""

    __str__ = Exception.__str__


class BadArgument(UsageError, ValueError):
    """A model, a yield or an option that does not fit."""


class BadColumn(BadArgument, KeyError, AssertionError):
    """A column of a DataFrame that was not named, or is not there."""

    __str__ = Exception.__str__


class PriceIsBelowIntrinsic(UsageError, ValueError):
    """No volatility is low enough for this price."""


class PriceIsAboveMaximum(UsageError, ValueError):
    """No volatility is high enough for this price."""


_OWN: tuple[type[UsageError], ...] = (BadArgument, PriceIsBelowIntrinsic, PriceIsAboveMaximum)
"""By kind of fault, as a kernel counts them."""
_THEIRS = (
    ("py_vollib.helpers.exceptions", ("", "PriceIsBelowIntrinsic", "PriceIsAboveMaximum")),
    ("py_lets_be_rational.exceptions", ("", "BelowIntrinsicException", "AboveMaximumException")),
)


def settled(faults: c.Array[c.c_int64], on_error: str) -> None:
    """As `faults.settle`, but what is raised is the other library's exception as well."""
    if not faults[TOTAL] or on_error == "ignore":
        return
    if on_error == "warn":
        settle(faults, on_error)
        return
    try:
        settle(faults, "raise")
    except UsageError as error:
        raise_kind(first_kind(faults), str(error))


def first_kind(faults: c.Array[c.c_int64]) -> int:
    """The kind of fault that `settle` speaks of: that of the first option that has one."""
    kinds = [kind for kind in range(len(KINDS)) if faults[kind]]
    return min(kinds, key=lambda kind: int(faults[len(KINDS) + kind]), default=INVALID)


def raise_kind(kind: int, message: str) -> NoReturn:
    """Raise the class of a kind of fault, derived from those classes of other libraries that are loaded."""
    own = _OWN[kind]
    theirs = tuple(
        getattr(sys.modules[module], names[kind])
        for module, names in _THEIRS
        if module in sys.modules and names[kind]
    )
    made: type[UsageError] = type(own.__name__, (own, *theirs), {"__init__": Exception.__init__})
    raise made(message) from None
