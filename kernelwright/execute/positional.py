"""Arguments by name put into the order that `forward` has them in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kernelwright.execute.reports import KernelRefused

_KINDS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def positional(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """All arguments up to the last one given, by position; what is left out before it takes its default.

    KernelRefused where the call does not fit the signature, or something can only be given by name.
    """
    if not kwargs:
        return list(args)
    order, defaults = _parameters(function)
    places = {name: number for number, name in enumerate(order)}
    for name in kwargs:
        if name not in places:
            raise KernelRefused("keyword-only arguments are given")
        if places[name] < len(args):
            raise KernelRefused("the arguments do not fit the original's signature")
    wanted = order[len(args) : max(places[name] for name in kwargs) + 1]
    known = {**defaults, **kwargs}
    if any(name not in known for name in wanted):
        raise KernelRefused("the arguments do not fit the original's signature")
    return [*args, *(known[name] for name in wanted)]


def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Names of the parameters that can be given by position, and the defaults of those that have one."""
    try:
        return _read(getattr(function, "__func__", function), hasattr(function, "__func__"))
    except (TypeError, ValueError) as error:
        raise KernelRefused("the original has no signature that tells the order of its arguments") from error


@lru_cache(maxsize=1024)
def _read(function: Callable[..., Any], bound: bool) -> tuple[tuple[str, ...], dict[str, Any]]:
    listed = list(inspect.signature(function).parameters.values())[bound:]
    kept = [each for each in listed if each.kind in _KINDS]
    defaults = {each.name: each.default for each in kept if each.default is not inspect.Parameter.empty}
    return tuple(each.name for each in kept), defaults
