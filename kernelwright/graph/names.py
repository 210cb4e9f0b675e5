"""Names of what a reference is fed and of what it holds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

_OUTPUT_NAME = re.compile(r"out\d*")


def input_names(function: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """A name for each leaf of `args`: the parameter's, with `_0`, `_key` for what it contains.

    A name that a weight or an output has gets a `_` behind it: names of a problem's tensors differ.
    """
    forward, taken = function, set()
    if isinstance(function, torch.nn.Module):
        forward, taken = function.forward, set(module_tensors(function))
    names: list[str] = []
    for parameter, value in zip(_parameters(forward, len(args)), args, strict=False):
        for path, _ in pytree.tree_flatten_with_path(value)[0]:
            name = "_".join([parameter, *(_key_text(key) for key in path)])
            while name in taken or _OUTPUT_NAME.fullmatch(name):
                name += "_"
            taken.add(name)
            names.append(name)
    return names


def module_tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """All tensors that a module holds: parameters, buffers, then plain tensor attributes; each once."""
    found: dict[str, torch.Tensor] = dict(module.named_parameters())
    found.update(module.named_buffers())
    seen = {id(tensor) for tensor in found.values()}
    for prefix, child in module.named_modules():
        for name, value in vars(child).items():
            if isinstance(value, torch.Tensor) and id(value) not in seen:
                seen.add(id(value))
                found[f"{prefix}.{name}" if prefix else name] = value
    return found


def _parameters(forward: Callable[..., Any], count: int) -> Iterator[str]:
    """Names of the first `count` positional parameters; `*args` gives args_0, args_1, ..."""
    try:
        parameters = list(inspect.signature(forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    given = 0
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL or given == count:
            break
        yield parameter.name
        given += 1
    rest = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "args")
    for i in range(count - given):
        yield f"{rest}_{i}"


def _key_text(key: Any) -> str:
    return str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key))))
