"""The weights of a module where they lie, so that each call finds them without a walk over the module.

    held = Held.of(module, ("weight", "inner.bias"))
    held.tensors()          # by name; None where one is no longer where it was

Not covered: tensors that a property computes (parametrizations); `of` gives None for these.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from kernelwright.graph.capture import module_tensors

Place = tuple[str, dict[str, Any], str, torch.Tensor]
"""Name, the dictionary that holds the tensor, its key there, and the tensor itself."""


class Held:
    """Some tensors of one module."""

    def __init__(self, places: list[Place]) -> None:
        self._places = places
        self._found = {name: tensor for name, _, _, tensor in places}

    @classmethod
    def of(cls, module: torch.nn.Module, names: Iterable[str]) -> Held | None:
        """The places of these; None where one is not found in its part's own dictionaries."""
        tensors = module_tensors(module)
        places: list[Place] = []
        for name in names:
            owner, _, key = name.rpartition(".")
            part = module.get_submodule(owner) if name in tensors else None
            place = part and next(
                (held for held in (part._parameters, part._buffers, vars(part)) if key in held), None
            )
            if not place or place[key] is not tensors[name]:
                return None
            places.append((name, place, key, tensors[name]))
        return cls(places)

    def tensors(self) -> dict[str, torch.Tensor] | None:
        """All of them, or None where one was replaced."""
        for _, place, key, tensor in self._places:
            if place.get(key) is not tensor:
                return None
        return self._found
