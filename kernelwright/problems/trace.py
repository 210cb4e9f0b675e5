"""Whether the reference runs on its arguments, told before any work: by signature, then on shapes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.errors import ProblemError, first_line
from kernelwright.graph.capture import Captured, capture
from kernelwright.problems.fixed import ALLOWED, written
from kernelwright.problems.origin import Origin
from kernelwright.problems.outline import Outline, outline
from kernelwright.problems.reference import running


def check_arguments(name: str, base: Outline) -> None:
    """ProblemError if there are too many or too few arguments, or one that no problem can hold."""
    _check_kinds(name, base)
    forward: Callable[..., Any] = base.module
    if isinstance(forward, torch.nn.Module):
        forward = forward.forward
    try:
        inspect.signature(forward).bind(*base.arguments)
    except TypeError as error:
        takes = ", ".join(inspect.signature(forward).parameters) or "nothing"
        count = len(base.arguments)
        raise ProblemError(
            f"inputs of '{name}' do not fit: {count} given, forward takes ({takes}): {error}"
        ) from error
    except ValueError:
        return


def _check_kinds(name: str, base: Outline) -> None:
    for number, argument in enumerate(base.arguments):
        for leaf in pytree.tree_leaves(argument):
            if isinstance(leaf, torch.Tensor):
                if leaf.layout is not torch.strided or leaf.is_quantized or leaf.is_nested:
                    kind = "nested" if leaf.is_nested else "quantized" if leaf.is_quantized else leaf.layout
                    raise ProblemError(
                        f"input {number} of '{name}' is a {kind} tensor; give it dense tensors"
                    )
            elif written(leaf) is None:
                raise ProblemError(
                    f"input {number} of '{name}' has a {type(leaf).__name__}; allowed: {ALLOWED}"
                )


def traced(origin: Origin, base: Outline) -> tuple[Captured | None, str]:
    """The captured graph, or None and the reason why the reference, though it runs, cannot be traced.

    ProblemError if the reference does not run.
    """
    try:
        return capture(base.module, base.arguments), ""
    except ProblemError as error:
        reason = first_line(error)
    returned_shapes(origin)
    return None, reason


def returned_shapes(origin: Origin) -> Any:
    """What the reference returns at its base sizes, on shapes if it can, else computed on the CPU."""
    failure = ProblemError(f"reference of '{origin.name}' does not run")
    for device in ("meta", "cpu"):
        made = outline(origin, {}, device)
        try:
            with torch.no_grad(), running(origin.name):
                return made.module(*made.arguments)
        except ProblemError as error:
            failure = error
    raise failure
