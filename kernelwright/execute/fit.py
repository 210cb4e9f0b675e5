"""A kernel put into a module, once it is clear that the module computes what the kernel was proven for.

    module = fitted(model, kernel, build, problem)

A kernel has its problem built in: another factor, another `norm.eps`, another module altogether give other
results, and nothing would say so. The module's graph is compared with that of the problem's own module,
numbers included, and its results with the kernel's on draws of the problem's inputs. What it returns is
learnt meanwhile, so the kernel answers from the first call on. The module's state does not change: what runs
is a copy that shares its weights.

Not covered: what the module becomes later (`likeness` watches that). A module that can be compared in neither
way (no graph, and random numbers or sizes outside the kernel's domain) is refused.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.errors import UsageError, boundary
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.execute.agreement import agree, tolerance_of
from kernelwright.execute.contract import axes_of
from kernelwright.execute.module import KernelModule
from kernelwright.execute.reports import KernelRefused
from kernelwright.execute.sameness import first_difference
from kernelwright.graph.capture import module_tensors
from kernelwright.problems.origin import Origin, origin_of
from kernelwright.problems.outline import outline
from kernelwright.problems.placed import moved, placed
from kernelwright.problems.reference import Reference, running

SEEDS = (11, 12)
"""Draws on which results are compared."""

Change = Callable[[str, torch.Tensor], torch.Tensor]
"""What a copied module holds in place of the tensor of a name."""


def fitted(
    original: Callable[..., Any] | None, kernel: Kernel, build: Build, problem: Problem
) -> KernelModule:
    """`original` with `kernel` in it; without `original` the problem's own module, made anew.

    UsageError where `original` computes something else, or lies elsewhere than the kernel runs.
    """
    device = torch.device("cpu" if build.target.name == "cpu" else "cuda")
    origin = origin_of(problem)
    if problem.entry.kind == "path" and origin.identity != problem.normalized:
        raise UsageError(f"{problem.entry.location} was edited after its kernel was found; optimize it again")
    devices = [torch.cuda.current_device()] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch.no_grad():
        module = Reference.open(problem, problem.base, device).module if original is None else original
        axes = _axes(module, problem, device)
        same = original is None or _same_graph(original, problem, origin, axes)
        made = KernelModule(module, kernel, build, problem)
        served = _compare(made, origin, axes, device, judged=not (same and problem.degenerate))
    if not same and (not served or problem.random != "none"):
        raise _refused(module, problem, "neither its graph nor its results can be compared")
    return made


def _axes(module: Callable[..., Any], problem: Problem, device: torch.device) -> dict[str, int]:
    """The sizes that the module's weights mean; UsageError where it has not the problem's weights."""
    held = module_tensors(module) if isinstance(module, torch.nn.Module) else {}
    for spec in problem.weights:
        if spec.name not in held:
            raise _refused(module, problem, f"it has no weight '{spec.name}'")
        weight = held[spec.name]
        if weight.dtype != getattr(torch, spec.dtype):
            raise _refused(
                module, problem, f"weight '{spec.name}' is {weight.dtype}; the kernel takes {spec.dtype}"
            )
        if weight.device.type != device.type:
            raise UsageError(
                f"weight '{spec.name}' is on {weight.device} and the kernel runs on {device.type}; move the "
                "module there first"
            )
    try:
        return axes_of(problem, {spec.name: held[spec.name] for spec in problem.weights})
    except KernelRefused as refusal:
        raise _refused(module, problem, str(refusal)) from refusal


def _same_graph(given: Callable[..., Any], problem: Problem, origin: Origin, axes: dict[str, int]) -> bool:
    """Whether both graphs are known and equal; UsageError where they differ."""
    own = outline(origin, axes)
    bare = _copied(given, problem, lambda name, tensor: torch.empty_like(tensor, device="meta"))
    difference = first_difference(bare, own.module, own.arguments)
    if difference:
        raise _refused(given, problem, difference)
    return difference is not None


def _compare(
    made: KernelModule, origin: Origin, axes: dict[str, int], device: torch.device, judged: bool
) -> bool:
    """Run the original and the kernel on draws, each on a copy; whether the kernel answered.

    What the original returns is made known to `made`. UsageError where values differ, if they are `judged`.
    """
    problem, original = made.problem, made.original
    one, two = (_copied(original, problem, _kept_apart(problem)) for _ in range(2))
    trial = KernelModule(two, made.kernel, made.build, problem)
    for seed in SEEDS:
        with boundary(UsageError, f"{_name(original)} raises on inputs of problem '{problem.name}'"):
            args = _drawn(problem, origin, axes, device, seed)
            result = one(*args)
        made.learn(args, result)
        trial.learn(args, result)
        again = _drawn(problem, origin, axes, device, seed) if problem.mutated else args
        found = trial(*again)
        if trial.passed_on:
            return False
        if judged and problem.random == "none" and not _alike(found, result, one, two, problem):
            raise _refused(original, problem, "on the problem's inputs its results are not the kernel's")
    trial.release()
    return True


def _alike(found: Any, wanted: Any, one: Any, two: Any, problem: Problem) -> bool:
    """Whether results, and what was changed in place in the two copies, agree."""
    pairs = list(zip(pytree.tree_leaves(found), pytree.tree_leaves(wanted), strict=True))
    if isinstance(one, torch.nn.Module):
        held = module_tensors(two), module_tensors(one)
        pairs += [(held[0][name], held[1][name]) for name in problem.mutated if name in held[0]]
    tolerance = tolerance_of(problem)
    return all(agree(a, b, tolerance) for a, b in pairs if isinstance(b, torch.Tensor))


def _drawn(
    problem: Problem, origin: Origin, axes: dict[str, int], device: torch.device, seed: int
) -> list[Any]:
    """Arguments as the source draws them; their own for one call where they may be changed in place."""
    with running(problem.name), placed(device, seed):
        arguments: list[Any] = moved(origin.arguments(axes), device)
    if problem.mutated:
        arguments = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, arguments)
    return list(arguments)


def _kept_apart(problem: Problem) -> Change:
    return lambda name, tensor: tensor.detach().clone() if name in problem.mutated else tensor


def _copied(original: Callable[..., Any], problem: Problem, change: Change) -> Callable[..., Any]:
    """A copy in the problem's mode, with what `change` gives for each tensor."""
    if not isinstance(original, torch.nn.Module):
        return original
    memo: dict[int, Any] = {}
    for name, tensor in module_tensors(original).items():
        changed = change(name, tensor)
        parameter = isinstance(tensor, torch.nn.Parameter) and changed is not tensor
        memo[id(tensor)] = torch.nn.Parameter(changed, tensor.requires_grad) if parameter else changed
    with boundary(UsageError, f"{_name(original)} cannot be copied to be compared"):
        copied = copy.deepcopy(original, memo)
    if copied.training != (problem.mode == "train"):
        copied.train(problem.mode == "train")
    return copied


def _refused(module: Callable[..., Any], problem: Problem, why: str) -> UsageError:
    return UsageError(
        f"{_name(module)} does not compute what the kernel of '{problem.name}' was proven for: {why}; "
        "give the module that was optimized, or optimize this one"
    )


def _name(module: Callable[..., Any]) -> str:
    name: str = getattr(module, "__name__", type(module).__name__)
    return name
