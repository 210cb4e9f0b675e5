"""Whether a part does nothing but compute: found out by running a copy of it once.

    why = does_more(module, arguments)      # "" where a kernel could stand in for it

A part that sets attributes, or keeps something in a list of its own, does so for somebody who reads it later;
a part that returns its argument, or a view of one, shares memory with it. A kernel does neither, so such
parts are left alone. Not covered: what a part writes to files, globals or other modules.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from kernelwright.core.errors import UsageError, boundary
from kernelwright.integrate.tensors import copied, tensors_in


def does_more(module: nn.Module, arguments: Sequence[Any]) -> str:
    """What the part does beside computing, or nothing. UsageError where a copy of it does not run."""
    with boundary(UsageError, "a copy of the part does not run on its own"), torch.no_grad():
        own = copy.deepcopy(module)
        given = copied(list(arguments))
        before = _attributes(own)
        results = own(*given)
    after = _attributes(own)
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if changed:
        return f"its forward changes attributes ({', '.join(changed[:3])})"
    taken = {leaf.untyped_storage().data_ptr() for leaf in tensors_in(given)}
    taken |= {tensor.untyped_storage().data_ptr() for tensor in own.state_dict().values()}
    if any(leaf.untyped_storage().data_ptr() in taken for leaf in tensors_in(results) if leaf.numel()):
        return "it returns an argument, a weight or a view of one"
    return ""


def _attributes(module: nn.Module) -> dict[str, Any]:
    """What lies in a module's own dictionaries, by name: identities, those in containers too."""
    found: dict[str, Any] = {}
    for prefix, part in module.named_modules():
        for name, value in vars(part).items():
            found[f"{prefix}.{name}".lstrip(".")] = _identity(value, 3)
    return found


def _identity(value: Any, depth: int) -> Any:
    if depth and isinstance(value, (list, tuple, set)):
        return id(value), [_identity(item, depth - 1) for item in value]
    if depth and isinstance(value, dict):
        return id(value), [(id(key), _identity(item, depth - 1)) for key, item in value.items()]
    return value if isinstance(value, (bool, int, float, str)) else id(value)
