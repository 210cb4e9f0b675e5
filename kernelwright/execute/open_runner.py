"""Runs an open kernel in this process: its own Python, on the reference's weights.

    runner = OpenRunner(kernel, build, reference, layout)
    runner.prepare(weights)           # makes ModelNew, the first time
    outputs = runner.run(args)        # outputs, then mutated tensors, in the problem's order

`ModelNew` is made as the reference's model is, with the same constructor arguments under the same seed.
Its weights then *are* the reference's tensors, not copies: what changes there changes here. A function
`kernel` is called with the inputs and then the same tensors, in the problem's order. Nothing that runs
here is believed: answers are compared in another process, and the clock is outside.

Not covered: kernels on a GPU, where one context would hold the candidate's Python and the judge's events.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.errors import boundary
from kernelwright.core.kernel import Build, Kernel
from kernelwright.execute.contract import check_domain
from kernelwright.execute.layout import ResultLayout
from kernelwright.execute.reports import KernelRefused, PlanRefused
from kernelwright.graph.capture import module_tensors
from kernelwright.languages.python import ARCHIVE, ENTRY, FUNCTION
from kernelwright.problems.reference import Reference
from kernelwright.problems.text_module import text_module

_POISON = 0xFF


class OpenRunner:
    """One open kernel at the point of its reference."""

    def __init__(self, kernel: Kernel, build: Build, reference: Reference, layout: ResultLayout) -> None:
        """PlanRefused or KernelRefused if it cannot run here."""
        problem = reference.problem
        if build.status != "built" or build.artifact is None:
            raise PlanRefused(f"the build of kernel {build.kernel} {build.status}; it cannot run")
        check_domain(kernel.domain, {**problem.axis_sizes, **reference.workload.axes})
        self.problem = problem
        self.results = tuple(name for name, _, _ in layout)
        self._reference = reference
        self._layout = layout
        self._path = Path(build.artifact)
        self._model: Any = None
        self._called = f"{ENTRY}.forward"

    def prepare(self, weights: Mapping[str, torch.Tensor]) -> float:
        """Make `ModelNew` on these weights, if it is not made yet; 0.0: it has no separate preparation."""
        if self._model is None:
            with boundary(KernelRefused, "the kernel's source raises"):
                entry = _entry(self._path)
            if isinstance(entry, type):
                with boundary(KernelRefused, f"{ENTRY}(*get_init_inputs()) raises"):
                    self._model = self._reference.like(entry)
                _share(self._model, weights)
            else:
                held = tuple(weights.values())
                self._model = lambda *args: entry(*args, *held)
                self._called = FUNCTION
        return 0.0

    def run(self, args: Sequence[Any], *, poison: bool = False) -> list[torch.Tensor]:
        """What it returns for `args`, then the mutated tensors. KernelRefused where it raises or returns
        what the problem does not promise. `poison` fills memory that it may be given for its outputs."""
        if poison:
            _poison(self._layout, self._reference.device)
        results = self.promised(args, self.call(args))
        if poison:
            _settled(results[: len(self.problem.outputs)])
        return results

    def call(self, args: Sequence[Any]) -> Any:
        """What it returns for `args`, as it comes; KernelRefused where it raises."""
        with torch.no_grad(), boundary(KernelRefused, f"{self._called} raises"):
            return self._model(*args)

    def promised(self, args: Sequence[Any], returned: Any) -> list[torch.Tensor]:
        """What `call` returned, then the mutated tensors; KernelRefused if that was not promised."""
        outputs = [leaf for leaf in pytree.tree_leaves(returned) if isinstance(leaf, torch.Tensor)]
        held = {**self._reference.inputs(args), **self._reference.weights()}
        self._check(outputs, held)
        return [*(each.contiguous() for each in outputs), *(held[name] for name in self.problem.mutated)]

    def close(self) -> None:
        """Let go of the model."""
        self._model = None

    def _check(self, outputs: Sequence[torch.Tensor], held: Mapping[str, torch.Tensor]) -> None:
        """Plain tensors in memory of their own, as many as the problem has."""
        wanted = self.problem.outputs
        if len(outputs) != len(wanted):
            raise KernelRefused(f"{len(outputs)} tensors come back; the problem has {len(wanted)}")
        fixed = {name: each for name, each in held.items() if name not in self.problem.mutated}
        for (_, dtype, shape), spec, output in zip(self._layout, wanted, outputs, strict=False):
            kind = type(output).__name__
            if type(output) is not torch.Tensor or output.layout is not torch.strided:
                raise KernelRefused(f"'{spec.name}' is a {kind} of {output.layout}; give a plain tensor")
            if output.device.type != self._reference.device.type:
                raise KernelRefused(f"'{spec.name}' is on {output.device}, not {self._reference.device}")
            if (output.dtype, tuple(output.shape)) != (dtype, shape):
                given = f"{list(output.shape)} of {output.dtype}"
                raise KernelRefused(f"'{spec.name}' is {given}; the problem's is {list(shape)} of {dtype}")
            for name, other in fixed.items():
                if _storage(output) == _storage(other) and output.numel():
                    raise KernelRefused(f"'{spec.name}' lies in the memory of '{name}'; give one of its own")


def _entry(path: Path) -> Any:
    """The class `ModelNew` or the function `kernel` of a source, run as a module of its own.

    The other sources of an archive can be imported from it.
    """
    if path.suffix == ARCHIVE:
        with zipfile.ZipFile(path) as archive:
            text = archive.read(archive.namelist()[0]).decode("utf-8")
        sys.path.insert(0, str(path))
    else:
        text = path.read_text(encoding="utf-8")
    module = text_module("kernelwright_candidate", text, str(path))
    exec(compile(text, str(path), "exec"), module.__dict__)
    return getattr(module, ENTRY if hasattr(module, ENTRY) else FUNCTION)


def _share(model: Any, weights: Mapping[str, torch.Tensor]) -> None:
    """Let the model's tensors be these: by name, or in order where names differ and all forms agree."""
    own = module_tensors(model) if isinstance(model, torch.nn.Module) else {}
    alike = set(weights) <= set(own)
    names = dict(zip(weights, weights if alike else own, strict=False))
    other = [name for name in names if _form(own[names[name]]) != _form(weights[name])]
    if alike and other:
        name, more = other[0], f" (and so of {len(other) - 1} more)" if len(other) > 1 else ""
        given, wanted = _form(own[name]), _form(weights[name])
        raise KernelRefused(
            f"the weight '{name}' of {ENTRY} is {given}, the reference's is {wanted}; make it alike{more}"
        )
    if other or len(names) < len(weights):
        given, wanted = ", ".join(own) or "none", ", ".join(weights)
        raise KernelRefused(
            f"the weights of {ENTRY} ({given}) are not the reference's ({wanted}); "
            "call them alike, or make them in the same order, type and shape"
        )
    for name, tensor in weights.items():
        _put(model, names[name], tensor)


def _form(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"


def _put(model: torch.nn.Module, name: str, tensor: torch.Tensor) -> None:
    owner, _, leaf = name.rpartition(".")
    place = model.get_submodule(owner)
    if leaf in place._parameters:
        parameter = place._parameters[leaf]
        assert parameter is not None
        parameter.data = tensor
    elif leaf in place._buffers:
        place._buffers[leaf] = tensor
    else:
        setattr(place, leaf, tensor)


def _poison(layout: ResultLayout, device: torch.device) -> None:
    """Write over memory that the allocator will give to outputs next."""
    for _, dtype, shape in layout:
        torch.empty(shape, dtype=dtype, device=device).view(-1).view(torch.uint8).fill_(_POISON)


def _settled(outputs: Sequence[torch.Tensor]) -> None:
    """KernelRefused where what the next operation on the device sees is not what there is in the end."""
    on_device = [each for each in outputs if each.is_cuda]
    seen = [each.clone() for each in on_device]
    if on_device:
        torch.cuda.synchronize()
    if any(not torch.equal(_bytes(now), _bytes(then)) for now, then in zip(on_device, seen, strict=True)):
        raise KernelRefused(
            "its results change after it has returned: let the current stream wait for the one it works on"
        )


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8)


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
