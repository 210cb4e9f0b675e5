"""What a kernel took from its module as constant: parts, their modes, plain attributes and hooks.

The graph that a kernel computes has them built in. Who sets `norm.eps`, puts another activation in, hooks a
part or calls `eval()` on it changes what the module computes, and the kernel does not follow.

    wanted = likeness(module); watch = Watch(module)
    watch.holds()       # at each call: a few microseconds a part; where it fails, likeness(module) decides

Not covered: globals that a function reads, and objects in attributes that are neither modules, tensors,
functions nor plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch

_PLAIN = (bool, int, float, str, type(None), torch.dtype, FunctionType, BuiltinFunctionType)
_LISTS = (tuple, list)
_OF_EVERY_MODULE = frozenset(vars(torch.nn.Module())) - {"training"}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
Likeness = tuple[Any, ...]


def likeness(original: Callable[..., Any], training: bool | None = None) -> Likeness:
    """Something that is equal as long as the module is the same but for its tensors.

    With `training`, as if all parts were in that mode.
    """
    if not isinstance(original, torch.nn.Module):
        return ()
    return tuple(
        (name, type(part), _hooks(part), tuple(_constants(part, training)))
        for name, part in original.named_modules()
    )


class Watch:
    """Whether a module is still as it was when this was made, part by part and name by name."""

    def __init__(self, original: Callable[..., Any]) -> None:
        parts = list(original.modules()) if isinstance(original, torch.nn.Module) else []
        self._seen = [
            (
                vars(part),
                len(vars(part)),
                list(part._modules.items()),
                _hooks(part),
                list(_constants(part, None)),
            )
            for part in parts
        ]

    def holds(self) -> bool:
        """False where anything is another than it was, in a way that matters or not."""
        for held, size, parts, hooks, constants in self._seen:
            if len(held) != size or tuple(map(tuple, map(held.get, _HOOKS))) != hooks:  # type: ignore[arg-type]
                return False
            if list(held["_modules"].items()) != parts:
                return False
            for name, value in constants:
                now = held.get(name, self)
                if now is not value and (tuple(now) if isinstance(now, list) else now) != value:
                    return False
        return True


def _hooks(part: torch.nn.Module) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(getattr(part, name)) for name in _HOOKS)


def _constants(part: torch.nn.Module, training: bool | None) -> Iterator[tuple[str, Any]]:
    for name, value in vars(part).items():
        if name in _OF_EVERY_MODULE:
            continue
        if name == "training" and training is not None:
            yield name, training
        elif isinstance(value, _PLAIN):
            yield name, value
        elif isinstance(value, _LISTS) and all(isinstance(item, _PLAIN) for item in value):
            yield name, tuple(value)
