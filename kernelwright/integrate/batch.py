"""`Batch`: one call of a model, as its user gives it.

    Batch.of(x), Batch.of((x, mask)), Batch.of({"input_ids": ids})

A tensor is the only argument, a tuple or list are positional ones, a dictionary those by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.errors import UsageError


@dataclass(frozen=True)
class Batch:
    """Arguments of one call."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @classmethod
    def of(cls, given: Any) -> Batch:
        """From a tensor, a tuple or list, or a dictionary."""
        if isinstance(given, Mapping):
            return cls((), dict(given))
        return cls(tuple(given) if isinstance(given, list | tuple) else (given,), {})

    def run(self, model: Callable[..., Any]) -> Any:
        """What the model gives for it, without gradients."""
        with torch.no_grad():
            return model(*self.args, **self.kwargs)

    def flat(self) -> list[Any]:
        """All arguments in a row, those by name last."""
        return [*self.args, *self.kwargs.values()]

    def taking(self, model: Callable[..., Any]) -> Callable[..., Any]:
        """The model as a function of such a row."""
        count, names = len(self.args), tuple(self.kwargs)
        return lambda *given: model(*given[:count], **dict(zip(names, given[count:], strict=True)))

    def wide(self) -> Batch:
        """The same with float64 in place of narrower floating tensors."""
        args, kwargs = pytree.tree_map(_wide, (self.args, dict(self.kwargs)))
        return Batch(args, kwargs)


def batches_of(given: Any) -> list[Batch]:
    """A list of batches; UsageError where there is none."""
    if not isinstance(given, list) or not given:
        raise UsageError(
            f"batches are a {type(given).__name__}; give a list with at least one: a tensor, a tuple of "
            "arguments or a dictionary of them by name"
        )
    batches = [Batch.of(each) for each in given]
    for batch in batches[1:]:
        if len(batch.args) != len(batches[0].args) or tuple(batch.kwargs) != tuple(batches[0].kwargs):
            raise UsageError("batches differ in the number or names of their arguments; give them alike")
    return batches


def _wide(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
