"""`Reference`: a problem's module made at one workload on one device, with what it is fed.

Weights are made under a seed of their own. Seed 0 gives the weights that the source means. Any
other seed also moves weights that are constant (a norm's ones and zeros), so that a kernel which
ignores them is caught. Mutated buffers are copied at the start, for `reset`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.errors import ProblemError, boundary, did_you_mean, full_text
from kernelwright.core.problem import NumericFlags, Problem, Workload
from kernelwright.graph.capture import input_names, module_tensors
from kernelwright.problems.draw import DRAWS, fill
from kernelwright.problems.origin import Origin, origin_of
from kernelwright.problems.placed import moved, placed

_JITTER = 0.1


class Reference:
    """A module, its weights, and draws of its inputs. Make one with `open`."""

    def __init__(
        self, problem: Problem, workload: Workload, device: torch.device, origin: Origin, weights_seed: int
    ) -> None:
        self.problem = problem
        self.workload = workload
        self.device = device
        self._origin = origin
        self._seed = weights_seed
        with running(problem.name), placed(device, weights_seed):
            self.module: Callable[..., Any] = origin.module(workload.axes)
        if isinstance(self.module, torch.nn.Module):
            self.module.to(device)
            if weights_seed != 0:
                vary_constants(self.module, weights_seed)
        held = self.weights()
        self._first = {name: held[name].clone() for name in problem.mutated if name in held}

    @classmethod
    def open(
        cls,
        problem: Problem,
        workload: Workload | None = None,
        device: torch.device | str = "cpu",
        weights_seed: int = 0,
    ) -> Reference:
        """The reference at `workload` (the base one by default); sets torch's numeric flags."""
        apply_flags(problem.flags)
        return cls(problem, workload or problem.base, torch.device(device), origin_of(problem), weights_seed)

    def like(self, make: Callable[..., Any]) -> Any:
        """What `make` gives for the model's constructor arguments, under its seed and in its mode."""
        with placed(self.device, self._seed):
            made = make(*self._origin.init_values(self.workload.axes))
        if isinstance(made, torch.nn.Module):
            made.to(self.device).train(self.problem.mode == "train")
        return made

    def draw(self, seed: int, draw: str = "file") -> list[Any]:
        """Arguments as `forward` takes them, on the device; the same for the same seed.

        `draw` is `file` (as the source draws) or a name from `problems.draw.DRAWS`; UsageError else.
        """
        if draw != "file" and draw not in DRAWS:
            raise ProblemError(f"unknown draw '{draw}'; {did_you_mean(draw, ['file', *DRAWS])}")
        with running(self.problem.name), placed(self.device, seed):
            arguments = moved(self._origin.arguments(self.workload.axes), self.device)
        if draw == "file":
            return list(arguments)
        # What the source gives may be its own, the same each time: it is not to be filled with this draw.
        arguments = pytree.tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) else x, arguments)
        floats = (leaf for leaf in pytree.tree_leaves(arguments) if isinstance(leaf, torch.Tensor))
        for number, tensor in enumerate(floats):
            if tensor.is_floating_point():
                fill(tensor, draw, seed * 1009 + number)
        return list(arguments)

    def weights(self) -> dict[str, torch.Tensor]:
        """Parameters, buffers and plain tensor attributes by qualified name: live memory, no gradients."""
        if not isinstance(self.module, torch.nn.Module):
            return {}
        return {name: tensor.detach() for name, tensor in module_tensors(self.module).items()}

    def forward(self, args: Sequence[Any], seed: int | None = None) -> list[torch.Tensor]:
        """Tensors that the reference returns, in order, then copies of the mutated ones, by name.

        `seed` is where torch's generators start, for references that draw. ProblemError if the
        reference raises or memory runs out.
        """
        if seed is not None:
            torch.manual_seed(seed)
        with torch.no_grad(), running(self.problem.name):
            returned = self.module(*args)
        outputs = [leaf for leaf in pytree.tree_leaves(returned) if isinstance(leaf, torch.Tensor)]
        if not self.problem.mutated:
            return outputs
        state = {**self.inputs(args), **self.weights()}
        return [*outputs, *(state[name].clone() for name in self.problem.mutated)]

    def inputs(self, args: Sequence[Any]) -> dict[str, torch.Tensor]:
        """The tensors among `args` by the names that the problem gives them."""
        leaves = [leaf for arg in args for leaf in pytree.tree_leaves(arg)]
        named = zip(input_names(self.module, args), leaves, strict=True)
        return {name: leaf for name, leaf in named if isinstance(leaf, torch.Tensor)}

    def reset(self) -> None:
        """Put mutated buffers back to their first values, in place."""
        held = self.weights()
        with torch.no_grad():
            for name, first in self._first.items():
                held[name].copy_(first)


def apply_flags(flags: NumericFlags) -> None:
    """Set torch's global switches for TF32."""
    torch.backends.cuda.matmul.allow_tf32 = flags.tf32_matmul
    torch.backends.cudnn.allow_tf32 = flags.tf32_conv


def vary_constants(module: torch.nn.Module, seed: int) -> None:
    """Move floating-point weights whose elements are all equal: by a tenth, or from zero to about a tenth.

    Signs are kept, so a variance stays positive.
    """
    with torch.no_grad():
        for number, tensor in enumerate(module_tensors(module).values()):
            if (
                not tensor.is_floating_point()
                or tensor.numel() == 0
                or not bool((tensor == tensor.view(-1)[0]).all())
            ):
                continue
            noise = torch.empty_like(tensor)
            fill(noise, "signed", seed * 1013 + number)
            noise.clamp_(-4, 4).mul_(_JITTER)
            tensor.copy_(noise if bool((tensor == 0).all()) else tensor * (1 + noise))


@contextmanager
def running(name: str) -> Iterator[None]:
    """Turn what the reference raises, and a lack of memory, into a ProblemError of one line."""
    try:
        with boundary(ProblemError, f"reference of '{name}' raises"):
            yield
    except ProblemError as error:
        if error.__cause__ is not None and out_of_memory(error.__cause__):
            message = f"reference of '{name}' runs out of memory; give it smaller sizes"
            raise ProblemError(message) from error.__cause__
        raise


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that host or device memory is used up."""
    text = full_text(error).lower()
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError)
        and any(sign in text for sign in ("can't allocate memory", "not enough memory", "out of memory"))
    )
