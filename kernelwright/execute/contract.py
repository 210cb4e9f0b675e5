"""What callers must hand to a kernel, checked before anything runs.

Tensors are taken as `forward` takes them (nested lists included, in order). Each must have the
dtype and device of its spec and a plain strided layout. A non-contiguous or, on a device,
misaligned input is copied; a *mutated* one cannot be, so it is refused. Scalars are fixed by the
problem. Axes are read off the shapes. What does not fit is `KernelRefused`: the original must run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.errors import UsageError
from kernelwright.core.expr import Expr, evaluate, holds, names
from kernelwright.core.problem import Problem, TensorSpec
from kernelwright.execute.reports import KernelRefused
from kernelwright.problems.fixed import is_same

DEVICE_ALIGNMENT = 16
"""Bytes: a device kernel may read inputs by 128-bit words. On a CPU an input is aligned to its element."""


def split_arguments(problem: Problem, args: Sequence[Any]) -> list[torch.Tensor]:
    """The tensors of `args` in the order of `problem.inputs`; KernelRefused if the rest differs."""
    leaves = pytree.tree_leaves(list(args))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    if len(tensors) != len(problem.inputs):
        raise KernelRefused(f"{len(tensors)} tensors are given; the kernel takes {len(problem.inputs)}")
    others = [leaf for leaf in leaves if not isinstance(leaf, torch.Tensor)]
    if len(others) != len(problem.scalars):
        raise KernelRefused(
            f"{len(others)} arguments are no tensors; the kernel is for {len(problem.scalars)}, and defaults "
            "are not filled in"
        )
    for spec, value in zip(problem.scalars, others, strict=True):
        if not is_same(spec, value):
            wanted = spec.value if spec.text is None else spec.text
            raise KernelRefused(f"argument '{spec.name}' is {value!r}; the kernel is for {wanted!r}")
    return tensors


def axes_of(problem: Problem, tensors: Mapping[str, torch.Tensor]) -> dict[str, int]:
    """Axis values that explain these shapes; KernelRefused if none do.

    A size that is affine in one unknown axis gives that axis; axes that no shape tells keep the
    value of the source.
    """
    known: dict[str, int] = {}
    specs = [*problem.inputs, *problem.weights]
    sizes = [pair for spec in specs if spec.name in tensors for pair in _pairs(spec, tensors[spec.name])]
    before = -1
    while before != len(known):
        before = len(known)
        for expr, size in sizes:
            unknown = names(expr) - set(known)
            if len(unknown) == 1:
                _solve(expr, size, next(iter(unknown)), known)
    axes = {**problem.axis_sizes, **known}
    for expr, size in sizes:
        if _value(expr, axes) != size:
            raise KernelRefused(f"a size is {size} where the kernel takes {expr} (axes {axes})")
    return axes


def check_domain(domain: str, axes: Mapping[str, int]) -> None:
    """KernelRefused if these axes lie outside the kernel's domain."""
    if not holds(domain, axes):
        given = ", ".join(f"{name}={value}" for name, value in axes.items())
        raise KernelRefused(f"axes {given} lie outside the kernel's domain: {domain}")


def admit(
    spec: TensorSpec, shape: tuple[int, ...], tensor: torch.Tensor, device: torch.device, *, mutated: bool
) -> torch.Tensor:
    """The tensor as a kernel may read it: itself, or a contiguous, aligned copy."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout is not torch.strided:
        raise KernelRefused(
            f"'{spec.name}' is a {type(tensor).__name__} of {tensor.layout}; the kernel takes plain tensors"
        )
    if tensor.dtype != getattr(torch, spec.dtype):
        raise KernelRefused(f"'{spec.name}' has dtype {tensor.dtype}; the kernel takes {spec.dtype}")
    if tensor.device.type != device.type or (
        device.index is not None and tensor.device.index != device.index
    ):
        raise KernelRefused(f"'{spec.name}' is on {tensor.device}; the kernel runs on {device}")
    if tuple(tensor.shape) != shape:
        raise KernelRefused(f"'{spec.name}' has shape {list(tensor.shape)}; the kernel takes {list(shape)}")
    if tensor.is_neg() or tensor.is_conj():
        raise KernelRefused(f"'{spec.name}' is a view that is negated or conjugated when it is read")
    if tensor.is_contiguous() and _aligned(tensor):
        return tensor
    if mutated:
        raise KernelRefused(f"'{spec.name}' is changed in place and must be contiguous and aligned")
    return tensor.clone(memory_format=torch.contiguous_format)


def check_overlap(mutated: Mapping[str, torch.Tensor], others: Mapping[str, torch.Tensor]) -> None:
    """KernelRefused if a tensor that is changed in place shares memory with another argument."""
    for name, tensor in mutated.items():
        for other, against in others.items():
            if other != name and _overlap(tensor, against):
                raise KernelRefused(f"'{name}' is changed in place and shares memory with '{other}'")


def _overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.device != b.device or a.numel() == 0 or b.numel() == 0:
        return False
    first, second = a.data_ptr(), b.data_ptr()
    return first < second + b.numel() * b.element_size() and second < first + a.numel() * a.element_size()


def _aligned(tensor: torch.Tensor) -> bool:
    return tensor.device.type == "cpu" or tensor.numel() == 0 or tensor.data_ptr() % DEVICE_ALIGNMENT == 0


def _pairs(spec: TensorSpec, tensor: torch.Tensor) -> list[tuple[Expr, int]]:
    if len(spec.shape) != tensor.dim():
        raise KernelRefused(
            f"'{spec.name}' has {tensor.dim()} dimensions; the kernel takes {len(spec.shape)}"
        )
    return list(zip(spec.shape, tensor.shape, strict=True))


def _solve(expr: Expr, size: int, axis: str, known: dict[str, int]) -> None:
    """Set `axis` if `expr` is affine in it and takes the value `size`."""
    one, two, three = (_value(expr, {**known, axis: probe}) for probe in (1, 2, 3))
    if one is None or two is None or three is None or two - one != three - two or two == one:
        return
    value, rest = divmod(size - one, two - one)
    if rest == 0 and value + 1 >= 0:
        known[axis] = value + 1


def _value(expr: Expr, axes: Mapping[str, int]) -> int | None:
    try:
        return evaluate(expr, axes)
    except UsageError:
        return None
