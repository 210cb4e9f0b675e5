"""Shapes of a problem at some axis sizes, without any data: everything is made on the meta device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.parameter import is_lazy
from torch.utils import _pytree as pytree

from kernelwright.core.errors import ProblemError, boundary
from kernelwright.graph.capture import module_tensors
from kernelwright.problems.origin import Origin
from kernelwright.problems.placed import moved, placed

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Outline:
    """A module and arguments of the right shapes."""

    module: Callable[..., Any]
    arguments: list[Any]

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The tensors among the arguments, flattened."""
        return [leaf for leaf in pytree.tree_leaves(self.arguments) if isinstance(leaf, torch.Tensor)]

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """The module's tensors by qualified name."""
        return module_tensors(self.module) if isinstance(self.module, torch.nn.Module) else {}

    @property
    def shapes(self) -> dict[str, Shape]:
        """Shape of every input and weight."""
        found = {f"input {i}": tuple(tensor.shape) for i, tensor in enumerate(self.tensors)}
        found.update({f"weight {name}": tuple(tensor.shape) for name, tensor in self.weights.items()})
        return found

    @property
    def input_bytes(self) -> int:
        """Bytes of all tensor arguments."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors)

    @property
    def total_bytes(self) -> int:
        """Bytes of all tensor arguments and weights."""
        return self.input_bytes + sum(w.numel() * w.element_size() for w in self.weights.values())


def outline(origin: Origin, axes: Mapping[str, int], device: str = "meta") -> Outline:
    """Module and arguments at these sizes; ProblemError if the source refuses them."""
    with placed(device, seed=0):
        module = origin.module(axes)
        arguments = origin.arguments(axes)
    with boundary(ProblemError, f"'{origin.name}' cannot be put on a device"):
        arguments = moved(arguments, device)
        if isinstance(module, torch.nn.Module):
            _check_shapes(origin.name, module)
            module = module.to(device)
    return Outline(module, arguments)


def _check_shapes(name: str, module: torch.nn.Module) -> None:
    """ProblemError for a lazy module, whose weights get their shapes in its first call."""
    lazy = [key for key, tensor in module_tensors(module).items() if is_lazy(tensor)]
    if lazy:
        raise ProblemError(f"weight '{lazy[0]}' of '{name}' has no shape yet; give a module that is not lazy")


def outline_or_none(origin: Origin, axes: Mapping[str, int]) -> Outline | None:
    """The same, or None where the source refuses these sizes."""
    try:
        return outline(origin, axes)
    except ProblemError:
        return None
