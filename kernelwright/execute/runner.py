"""Runs a kernel in this process: prepared weights, fresh outputs, one native call per segment.

    runner = Runner(kernel, build, problem, axes, "cpu")
    runner.prepare(weights)
    outputs = runner.run(args)        # outputs, then mutated tensors, in the problem's order

A runner serves one point of the axes. Outputs and scratch are new at every call, so that no state
can hide in them; on a CPU they are aligned to 64 bytes. Prepared buffers live in the runner. Native
steps between two library steps form one segment, run by one call of the launcher on torch's current
stream. A runner is not safe for two threads at once.
"""

from __future__ import annotations

import ctypes as c
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import torch

from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.execute.bind import bind
from kernelwright.execute.bound import AnyStep, BoundBuffer, BoundLibrary, BoundPlan, NativeStep
from kernelwright.execute.contract import admit, axes_of, check_domain, check_overlap, split_arguments
from kernelwright.execute.launcher import DeviceModule, HostModule, Program
from kernelwright.execute.library import LibraryCall
from kernelwright.execute.promises import Promises, promises
from kernelwright.execute.reports import KernelFault, KernelRefused, PlanRefused
from kernelwright.execute.roles import touched

CPU_ALIGNMENT = 64
"""Bytes: outputs and scratch on a CPU may be written by full cache lines."""
_POISON = 0xFF
"""Each byte of a poisoned buffer: NaN in every floating type, -1 in every signed integer."""
_MARGIN = 64
"""Elements behind a poisoned buffer that nothing may write."""


class _Entries(Protocol):
    def entry(self, name: str, shared_bytes: int, cluster_blocks: int) -> int: ...
    def close(self) -> None: ...


class Runner:
    """One sealed kernel, loaded, at one point of its axes."""

    def __init__(
        self, kernel: Kernel, build: Build, problem: Problem, axes: Mapping[str, int], device: str = "cpu"
    ) -> None:
        """PlanRefused, KernelRefused or KernelFault if it cannot run here."""
        if kernel.plan is None:
            raise PlanRefused(
                f"kernel '{kernel.name}' is open: it has no plan; run it with its own host side"
            )
        check_domain(kernel.domain, axes)
        self.problem = problem
        self.axes = dict(axes)
        self.device = torch.device(device)
        self.plan = bind(kernel.plan, axes)
        self.promises: Promises = promises(problem, self.plan)
        self._check_target()
        self._weights: dict[str, torch.Tensor] = {}
        self._prepared: dict[str, torch.Tensor] = {}
        self._order = {name: index for index, name in enumerate(self.plan.buffers)}
        self._pointers = (c.c_void_p * max(len(self._order), 1))()
        self._module: _Entries | None = None
        self._module = self._load(build)
        self._run = self._segments("run", self.plan.run)
        self._prepare = self._segments("prepare", self.plan.prepare)
        self._adopted = _adoptable(self.plan, self._run)
        self._adopted_in_prepare = _adoptable(self.plan, self._prepare)

    @property
    def results(self) -> tuple[str, ...]:
        """Names of what `run` returns."""
        return self.promises.results

    def prepare(self, weights: Mapping[str, torch.Tensor]) -> float:
        """Take these weights and run the plan's `prepare` steps; microseconds that it took.

        `weights` holds at least the tensors that the plan names, by qualified name. Weights are
        kept by reference; run `prepare` again when one changes.
        """
        self._weights = {}
        for spec, shape in self.promises.weights:
            if spec.name not in weights:
                raise KernelRefused(f"weight '{spec.name}' is missing")
            mutated = spec.name in self.problem.mutated
            self._weights[spec.name] = admit(spec, shape, weights[spec.name], self.device, mutated=mutated)
        self._prepared = {}
        tensors = dict(self._weights)
        if self.plan.prepare:
            self._allocate(self.plan.with_role("prepared", "scratch"), tensors, self._adopted_in_prepare)
        self._synchronize()
        start = time.perf_counter_ns()
        with torch.no_grad():
            self._execute(self._prepare, tensors, self._adopted_in_prepare)
        self._synchronize()
        elapsed = (time.perf_counter_ns() - start) / 1e3
        self._prepared = {
            buffer.name: tensors[buffer.name]
            for buffer in self.plan.with_role("prepared")
            if buffer.name in tensors
        }
        return elapsed if self.plan.prepare else 0.0

    def run(self, args: Sequence[Any], *, poison: bool = False) -> list[torch.Tensor]:
        """Run on `args`, as `forward` takes them. Outputs, then mutated tensors, in the problem's order.

        Outputs are new tensors; mutated ones are the caller's, changed in place. On a device the
        work is enqueued on the current stream. `poison` fills outputs and scratch with 0xFF first,
        and a margin behind each of them: KernelFault where that was written.
        """
        return self.run_on(split_arguments(self.problem, args), poison=poison)

    def run_on(self, inputs: Sequence[torch.Tensor], *, poison: bool = False) -> list[torch.Tensor]:
        """As `run`, on the problem's inputs alone, in order; the rest of a call was looked at before."""
        with torch.no_grad():
            tensors = self._admit(inputs)
            if self.promises.empty:
                self._allocate(self.plan.with_role("output"), tensors, frozenset())
            else:
                fresh = self.plan.with_role("output", "scratch")
                self._allocate(fresh, tensors, self._adopted, _MARGIN if poison else 0)
                if poison:
                    self._poison(tensors)
                self._execute(self._run, tensors, self._adopted)
                if poison:
                    self._check_margins(tensors)
        return [tensors[name] for name in self.promises.results]

    def close(self) -> None:
        """Free programs, unload the module, drop prepared buffers."""
        for part in (*self._run, *self._prepare):
            if isinstance(part, Program):
                part.close()
        if self._module is not None:
            self._module.close()
        self._weights, self._prepared = {}, {}

    def _check_target(self) -> None:
        if self.plan.host and self.device.type != "cpu":
            raise PlanRefused(
                f"the plan calls host entries but the device is {self.device}; use launch steps"
            )
        if self.plan.device and self.device.type != "cuda":
            raise PlanRefused(
                f"the plan launches device entries but the device is {self.device}; use call steps"
            )

    def _load(self, build: Build) -> _Entries | None:
        if not (self.plan.host or self.plan.device):
            return None
        if build.status != "built" or build.artifact is None:
            raise PlanRefused(
                f"the build of kernel {build.kernel} {build.status}; only what was built can run"
            )
        if self.plan.host:
            return HostModule(build.artifact)
        torch.cuda.current_stream(self.device).synchronize()
        try:
            return DeviceModule(Path(build.artifact).read_bytes())
        except OSError as error:
            raise KernelFault(f"the build's artifact cannot be read: {error}") from error

    def _segments(self, part: str, steps: Sequence[AnyStep]) -> list[Program | LibraryCall]:
        """Programs of native steps, and the library calls between them."""
        segments: list[Program | LibraryCall] = []
        native: list[NativeStep] = []
        first = 0
        for index, step in enumerate(steps):
            if not isinstance(step, BoundLibrary):
                # What ended before this segment began has been joined already.
                native.append(
                    replace(step, after=tuple(other - first for other in step.after if other >= first))
                )
                continue
            self._flush(native, segments)
            segments.append(LibraryCall(f"{part} step {index}", step, self.plan.buffers))
            native, first = [], index + 1
        self._flush(native, segments)
        return segments

    def _flush(self, native: list[NativeStep], segments: list[Program | LibraryCall]) -> None:
        if native:
            segments.append(Program(native, self._order, self._entry, device=self.device.type == "cuda"))

    def _entry(self, name: str, shared_bytes: int, cluster_blocks: int) -> int:
        if self._module is None:
            raise KernelFault(f"entry '{name}' has no module")
        return self._module.entry(name, shared_bytes, cluster_blocks)

    def _admit(self, inputs: Sequence[torch.Tensor]) -> dict[str, torch.Tensor]:
        """Inputs, weights and prepared buffers by name, checked against the contract."""
        given = dict(zip((spec.name for spec in self.problem.inputs), inputs, strict=True))
        if len(self._weights) != len(self.promises.weights):
            raise KernelRefused("weights are missing; call prepare first")
        tensors = {**self._weights, **self._prepared}
        for spec, shape in self.promises.inputs:
            tensors[spec.name] = admit(
                spec, shape, given[spec.name], self.device, mutated=spec.name in self.problem.mutated
            )
        check_overlap({name: tensors[name] for name in self.problem.mutated if name in tensors}, tensors)
        return tensors

    def _allocate(
        self,
        buffers: Sequence[BoundBuffer],
        tensors: dict[str, torch.Tensor],
        adopted: frozenset[str],
        margin: int = 0,
    ) -> None:
        for buffer in buffers:
            if buffer.name not in adopted:
                tensors[buffer.name] = self._empty(buffer, margin)

    def _empty(self, buffer: BoundBuffer, margin: int) -> torch.Tensor:
        """A new tensor; its storage has `margin` more elements behind the last."""
        form = {"dtype": getattr(torch, buffer.dtype), "device": self.device}
        try:
            if margin:
                flat = torch.empty(buffer.numel + margin, **form)
                tensor = flat[: buffer.numel].view(buffer.shape)
            else:
                tensor = torch.empty(buffer.shape, **form)
        except (RuntimeError, MemoryError) as error:
            raise KernelFault(f"no memory for buffer '{buffer.name}' of {buffer.nbytes} bytes") from error
        if self.device.type == "cpu" and tensor.data_ptr() % CPU_ALIGNMENT:
            raise KernelFault(f"buffer '{buffer.name}' is not aligned to {CPU_ALIGNMENT} bytes")
        return tensor

    def _poison(self, tensors: Mapping[str, torch.Tensor]) -> None:
        for buffer in self.plan.with_role("output", "scratch"):
            if buffer.name in tensors and buffer.numel:
                _stored_bytes(tensors[buffer.name]).fill_(_POISON)

    def _check_margins(self, tensors: Mapping[str, torch.Tensor]) -> None:
        for buffer in self.plan.with_role("output", "scratch"):
            if buffer.numel and buffer.name not in self._adopted:
                margin = _stored_bytes(tensors[buffer.name])[buffer.nbytes :]
                if bool((margin != _POISON).any()):
                    raise KernelFault(f"a step wrote behind the end of '{buffer.name}'")

    def _execute(
        self,
        segments: Sequence[Program | LibraryCall],
        tensors: dict[str, torch.Tensor],
        adopted: frozenset[str],
    ) -> None:
        for name, tensor in tensors.items():
            self._pointers[self._order[name]] = tensor.data_ptr()
        stream = torch.cuda.current_stream(self.device).cuda_stream if self.device.type == "cuda" else 0
        for segment in segments:
            if isinstance(segment, Program):
                segment.run(self._pointers, stream)
                continue
            segment.run(tensors, adopted)
            for buffer in segment.outputs:
                self._pointers[self._order[buffer.name]] = tensors[buffer.name].data_ptr()

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def runner_for(
    kernel: Kernel, build: Build, problem: Problem, args: Sequence[Any], device: str = "cpu"
) -> Runner:
    """A runner at the axes that these arguments have; KernelRefused outside the kernel's domain."""
    tensors = dict(zip((spec.name for spec in problem.inputs), split_arguments(problem, args), strict=True))
    return Runner(kernel, build, problem, axes_of(problem, tensors), device)


def _stored_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """All bytes of a tensor's storage, those behind its last element included."""
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def _adoptable(plan: BoundPlan, segments: Sequence[Program | LibraryCall]) -> frozenset[str]:
    """Buffers whose first use is to receive a library call's fresh result: they need no allocation."""
    seen: set[str] = set()
    found: set[str] = set()
    for segment in segments:
        if isinstance(segment, LibraryCall):
            if segment.fresh:
                names = {
                    buffer.name
                    for buffer in segment.outputs
                    if buffer.role in ("output", "scratch", "prepared")
                }
                found |= names - seen
            seen |= set(touched(segment.step))
        else:
            seen |= {name for step in segment.steps for name in touched(step)}
    return frozenset(found)
