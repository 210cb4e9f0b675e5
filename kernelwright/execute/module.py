"""`KernelModule`: a kernel put back where its problem came from.

It wraps the original module. Inside the kernel's domain and contract the kernel runs; everything
else (other shapes or dtypes, gradients wanted, autocast, tracing, another mode) runs the original.
Both are counted, and why the original ran is kept. Weights stay the original's: when one changes in
place or is replaced, the plan's `prepare` runs again before the next call.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.errors import InternalFault, first_line
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.execute.contract import axes_of, split_arguments
from kernelwright.execute.reports import KernelRefused
from kernelwright.execute.runner import Runner
from kernelwright.graph.capture import module_tensors

MAX_RUNNERS = 8
"""Points of the axes that are kept ready at once; the oldest goes first."""

_HOLE = object()
_Versions = tuple[tuple[int, int], ...]


class KernelModule(torch.nn.Module):
    """`original` with a kernel for part of its work. Calls take and return what the original's do."""

    def __init__(
        self,
        original: Callable[..., Any],
        kernel: Kernel,
        build: Build,
        problem: Problem,
        like: Any = None,
    ) -> None:
        """`original` is a module or a function.

        `like` is something that it returned once, from which the structure of its results is taken;
        without it the first call runs the original.
        """
        super().__init__()
        self.original = original
        self.training = getattr(original, "training", True)
        self.kernel = kernel
        self.build = build
        self.problem = problem
        self.served = 0
        """Calls that the kernel answered."""
        self.passed_on: Counter[str] = Counter()
        """Calls that the original answered, by reason."""
        self._runners: dict[tuple[tuple[str, int], ...], tuple[Runner, _Versions]] = {}
        self._structure: tuple[list[Any], pytree.TreeSpec] | None = None
        if like is not None:
            self._learn(like)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What `original(*args, **kwargs)` returns."""
        try:
            given = self._positional(args, kwargs)
            self._check_mode(given)
            runner = self._ready(given)
            results = runner.run(given)
        except KernelRefused as refusal:
            self.passed_on[first_line(refusal)] += 1
            result = self.original(*args, **kwargs)
            self._learn(result)
            return result
        self.served += 1
        return self._restore(results[: len(self.problem.outputs)])

    def _positional(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        if not kwargs:
            return list(args)
        try:
            bound = inspect.signature(getattr(self.original, "forward", self.original)).bind(*args, **kwargs)
        except TypeError as error:
            raise KernelRefused("the arguments do not fit the original's signature") from error
        if bound.kwargs:
            raise KernelRefused("keyword-only arguments are given")
        return list(bound.args)

    def _check_mode(self, given: Sequence[Any]) -> None:
        """KernelRefused where the original does more than compute, or computes something else."""
        module = isinstance(self.original, torch.nn.Module)
        if module and self.training != (self.problem.mode == "train"):
            raise KernelRefused(f"the module is not in {self.problem.mode} mode, which the kernel is for")
        tensors = [leaf for leaf in pytree.tree_leaves(list(given)) if isinstance(leaf, torch.Tensor)]
        if torch.is_grad_enabled() and any(t.requires_grad for t in (*tensors, *self.parameters())):
            raise KernelRefused("gradients are wanted; the kernel has none (use torch.no_grad)")
        if torch.compiler.is_compiling():
            raise KernelRefused("the call is being traced")
        device = tensors[0].device.type if tensors else "cpu"
        if torch.is_autocast_enabled(device):
            raise KernelRefused("autocast is on; the kernel computes in the problem's types")
        if self._structure is None:
            raise KernelRefused("what the original returns is learnt from its first call")

    def _ready(self, given: Sequence[Any]) -> Runner:
        """The runner for these shapes, its weights up to date."""
        specs = self.problem.inputs
        tensors = dict(zip((spec.name for spec in specs), split_arguments(self.problem, given), strict=True))
        axes = axes_of(self.problem, tensors)
        key = tuple(sorted(axes.items()))
        weights = self._weights()
        versions = tuple(
            (tensor.data_ptr(), tensor._version)
            for name, tensor in weights.items()
            if name not in self.problem.mutated
        )
        runner, seen = self._runners.get(key, (None, None))
        if runner is None:
            runner = self._new_runner(axes)
        if seen != versions:
            runner.prepare(weights)
        self._runners[key] = (runner, versions)
        return runner

    def _new_runner(self, axes: dict[str, int]) -> Runner:
        if len(self._runners) >= MAX_RUNNERS:
            oldest, _ = self._runners.pop(next(iter(self._runners)))
            oldest.close()
        device = "cpu" if self.build.target.name == "cpu" else "cuda"
        return Runner(self.kernel, self.build, self.problem, axes, device)

    def _weights(self) -> dict[str, torch.Tensor]:
        held = module_tensors(self.original) if isinstance(self.original, torch.nn.Module) else {}
        return {spec.name: held[spec.name] for spec in self.problem.weights if spec.name in held}

    def _learn(self, result: Any) -> None:
        """Take the structure of results, and what in it is no tensor, from one result."""
        leaves, spec = pytree.tree_flatten(result)
        kept = [_HOLE if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        if kept.count(_HOLE) == len(self.problem.outputs):
            self._structure = kept, spec

    def _restore(self, outputs: Sequence[torch.Tensor]) -> Any:
        if self._structure is None:
            raise InternalFault("a kernel ran before the structure of its results was known")
        kept, spec = self._structure
        remaining = iter(outputs)
        return pytree.tree_unflatten([next(remaining) if leaf is _HOLE else leaf for leaf in kept], spec)
