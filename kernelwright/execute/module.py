"""`KernelModule`: a kernel put back where its problem came from.

It wraps the original module. Inside the kernel's domain and contract the kernel runs; everything
else (other shapes or dtypes, gradients wanted, autocast, tracing, another mode) runs the original.
Both are counted, and why the original ran is kept. Weights stay the original's: when one changes in
place or is replaced, the plan's `prepare` runs again before the next call.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.errors import UsageError, first_line
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.execute.contract import axes_of, split_arguments
from kernelwright.execute.reports import KernelRefused
from kernelwright.execute.runner import Runner

MAX_RUNNERS = 8
"""Points of the axes that are kept ready at once; the oldest goes first."""

_Versions = tuple[tuple[int, int], ...]


class KernelModule(torch.nn.Module):
    """`original` with a kernel for part of its work. Calls take and return what the original's do."""

    def __init__(self, original: torch.nn.Module, kernel: Kernel, build: Build, problem: Problem) -> None:
        super().__init__()
        self.original = original
        self.kernel = kernel
        self.build = build
        self.problem = problem
        self.served = 0
        """Calls that the kernel answered."""
        self.passed_on: Counter[str] = Counter()
        """Calls that the original answered, by reason."""
        self._runners: dict[tuple[tuple[str, int], ...], tuple[Runner, _Versions]] = {}
        self._structure: pytree.TreeSpec | None = None
        if not isinstance(original, torch.nn.Module):
            raise UsageError(f"a {type(original).__name__} is given; KernelModule wraps an nn.Module")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What `original(*args, **kwargs)` returns."""
        try:
            given = self._positional(args, kwargs)
            self._check_mode(given)
            runner = self._ready(given)
            results = runner.run(given)
        except KernelRefused as refusal:
            self.passed_on[first_line(refusal)] += 1
            return self.original(*args, **kwargs)
        self.served += 1
        return self._restore(results[: len(self.problem.outputs)])

    def _positional(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        if not kwargs:
            return list(args)
        try:
            bound = inspect.signature(self.original.forward).bind(*args, **kwargs)
        except TypeError as error:
            raise KernelRefused("the arguments do not fit the original's signature") from error
        if bound.kwargs:
            raise KernelRefused("keyword-only arguments are given")
        return list(bound.args)

    def _check_mode(self, given: Sequence[Any]) -> None:
        """KernelRefused where the original does more than compute, or computes something else."""
        if self.original.training != (self.problem.mode == "train"):
            raise KernelRefused(f"the module is not in {self.problem.mode} mode, which the kernel is for")
        tensors = [leaf for leaf in pytree.tree_leaves(list(given)) if isinstance(leaf, torch.Tensor)]
        if torch.is_grad_enabled() and any(t.requires_grad for t in (*tensors, *self.original.parameters())):
            raise KernelRefused("gradients are wanted; the kernel has none (use torch.no_grad)")
        if torch.compiler.is_compiling():
            raise KernelRefused("the call is being traced")
        device = tensors[0].device.type if tensors else "cpu"
        if torch.is_autocast_enabled(device):
            raise KernelRefused("autocast is on; the kernel computes in the problem's types")
        if len(self.problem.outputs) > 1 and self._structure is None:
            raise KernelRefused("the structure of several outputs is learnt from the original first")

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
        state = {**dict(self.original.named_parameters()), **dict(self.original.named_buffers())}
        return {spec.name: state[spec.name] for spec in self.problem.weights if spec.name in state}

    def _restore(self, outputs: Sequence[torch.Tensor]) -> Any:
        if len(outputs) == 1 and self._structure is None:
            return outputs[0]
        assert self._structure is not None
        return pytree.tree_unflatten(list(outputs), self._structure)
