"""`KernelModule`: a kernel put back where its problem came from.

It wraps the original module. Inside the kernel's domain and contract the kernel runs; everything
else (other shapes, dtypes or constants, gradients wanted, autocast, tracing, another mode, a module that was
changed) runs the original. Both are counted, and why the original ran is kept. Weights stay the original's:
when one changes in place or is replaced, the plan's `prepare` runs again before the next call.

Not covered: weights that are written through `.data` or shared memory, which torch does not count as a change
(write under `torch.no_grad()` instead), and what `likeness` leaves out.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from kernelwright.core.errors import first_line
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.execute.contract import axes_of, split_arguments
from kernelwright.execute.forms import Form, form_of
from kernelwright.execute.held import Held
from kernelwright.execute.likeness import Watch, likeness
from kernelwright.execute.positional import positional
from kernelwright.execute.reports import KernelFault, KernelRefused, PlanRefused
from kernelwright.execute.runner import Runner
from kernelwright.graph.capture import input_names, module_tensors

MAX_RUNNERS = 32
"""Points of the axes that are kept ready at once; the oldest goes first."""
MAX_REASONS = 64
"""Reasons that are counted apart."""

MAX_FORMS = 256
"""Forms of arguments whose sizes are remembered."""

_HOLE = object()
_OF_THIS_PROCESS = ("_lock", "_runners", "_structures", "_forms", "_known", "_watch", "_unlike", "_held")
_PLAIN_LEAVES = frozenset({torch.Tensor, torch.nn.Parameter, type(None), bool, int, float, str})
_Versions = tuple[tuple[Any, ...], ...]
_Point = tuple[tuple[str, int], ...]
"""Axis values, by name."""
_Structure = tuple[list[Any], pytree.TreeSpec]
_Form = tuple[pytree.TreeSpec, list[bool]]
"""How arguments are nested, and which leaves are tensors."""


@dataclass(frozen=True)
class _Place:
    """Where in a call an argument stands."""

    at: int | str
    """Its position, or its name."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What follows from the form of a call."""

    places: tuple[int | str, ...]
    """Where the problem's inputs stand, in their order."""
    axes: dict[str, int]
    point: _Point


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
        without it, and without `learn`, the first call runs the original.
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
        self._instead: Callable[..., Any] | None = None
        mode = problem.mode == "train"
        self._likeness = likeness(original, None if self.training == mode else mode)
        self._forget()
        if like is not None:
            self._learn(like, None)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What `original(*args, **kwargs)` returns. May be called from several threads."""
        return self.answer(form_of(args, kwargs), args, kwargs)

    def answer(self, form: Form | None, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """As `forward`, for a call whose form (`form_of`) is known already."""
        point: _Point | None = None
        with self._lock:
            try:
                known = self._known.get(form) if form is not None else None
                if known is None:
                    given = self._positional(args, kwargs)
                    tensors = _tensors_of(given)
                    self._check_mode(tensors)
                    axes = self._axes(given)
                    point = tuple(sorted(axes.items()))
                    self._remember(form, args, kwargs, given, axes)
                else:
                    axes, point = known.axes, known.point
                    tensors = [kwargs[at] if isinstance(at, str) else args[at] for at in known.places]
                    self._check_mode(tensors)
                structure = self._structure(point)
                results = self._ready(axes, point).run_on(tensors)
                vars(self)["served"] += 1  # past `Module.__setattr__`, which takes microseconds
                return _restored(structure, results[: len(self.problem.outputs)])
            except KernelRefused as refusal:
                self._count(first_line(refusal))
        result = (self._instead or self.original)(*args, **kwargs)
        with self._lock:
            self._learn(result, point)
        return result

    def answer_with(self, original: Callable[..., Any]) -> None:
        """Pass calls on to this instead of `original`, whose `forward` may lead here (`integrate.guard`)."""
        self._instead = original

    def learn(self, args: Sequence[Any], result: Any) -> None:
        """Take the structure of results from one: `result` is what the original returned for `args`."""
        with self._lock:
            try:
                point: _Point | None = tuple(sorted(self._axes(args).items()))
            except KernelRefused:
                point = None
            self._learn(result, point)

    def release(self) -> None:
        """Unload the kernel and drop what it prepared; the next call loads it again."""
        with self._lock:
            for runner, _ in self._runners.values():
                runner.close()
            self._runners.clear()

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The original's, by the original's names: a checkpoint serves with the kernel and without it."""
        if isinstance(self.original, torch.nn.Module):
            return self.original.state_dict(*args, **kwargs)
        return super().state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """As the original's `load_state_dict`."""
        if isinstance(self.original, torch.nn.Module):
            return self.original.load_state_dict(*args, **kwargs)
        return super().load_state_dict(*args, **kwargs)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        """As part of a larger module: torch looks for the original's tensors under `original`."""
        if isinstance(self.original, torch.nn.Module):
            for name in [name for name in state_dict if name.startswith(prefix)]:
                state_dict[f"{prefix}original.{name[len(prefix) :]}"] = state_dict.pop(name)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def __getstate__(self) -> dict[str, Any]:
        """Without what belongs to this process: a copy loads its kernel again."""
        return {name: value for name, value in vars(self).items() if name not in _OF_THIS_PROCESS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._runners: dict[_Point, tuple[Runner, _Versions]] = {}
        self._structures: dict[_Point | None, _Structure] = {}
        self._forms: list[_Form] = []
        self._known: dict[Form, _Known] = {}
        self._watch: Watch | None = None
        self._unlike: Watch | None = None
        self._held: Held | None = None

    def _count(self, reason: str) -> None:
        """One more call that the original answers; reasons hold sizes, so there may be any number of them."""
        known = reason in self.passed_on or len(self.passed_on) < MAX_REASONS
        self.passed_on[reason if known else "other reasons"] += 1

    def _positional(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        original = self.original
        forward = type(original).forward if isinstance(original, torch.nn.Module) else original
        given = (original, *args) if forward is not original else args
        return positional(forward, given, kwargs)[len(given) - len(args) :]

    def _check_mode(self, tensors: Sequence[torch.Tensor]) -> None:
        """KernelRefused where the original does more than compute, or computes something else."""
        if "original" in self._modules and self.training != (self.problem.mode == "train"):
            raise KernelRefused(f"the module is not in {self.problem.mode} mode, which the kernel is for")
        if self._watch is None or not self._watch.holds():
            self._look_again()
        if torch.is_grad_enabled() and any(t.requires_grad for t in (*tensors, *self.parameters())):
            raise KernelRefused("gradients are wanted; the kernel has none (use torch.no_grad)")
        if torch.compiler.is_compiling() or _transformed():
            raise KernelRefused("the call is being traced or transformed")
        device = "cpu" if self.build.target.name == "cpu" else "cuda"
        if torch.is_autocast_enabled(device):
            raise KernelRefused("autocast is on; the kernel computes in the problem's types")

    def _look_again(self) -> None:
        """KernelRefused where the module is another; known at once as long as it stays that other one."""
        if self._unlike is None or not self._unlike.holds():
            if likeness(self.original) == self._likeness:
                self._watch = Watch(self.original)
                return
            self._unlike = Watch(self.original)
        raise KernelRefused("a part of the module, its mode, a plain attribute or a hook was changed")

    def _remember(
        self,
        form: Form | None,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        given: Sequence[Any],
        axes: dict[str, int],
    ) -> None:
        """Keep what follows from the form of a call, where none of its arguments is nested."""
        if form is None or len(self._known) >= MAX_FORMS or any(type(v) not in _PLAIN_LEAVES for v in given):
            return
        marked = self._positional(
            [_Place(at) for at in range(len(args))], {name: _Place(name) for name in kwargs}
        )
        taken = [mark for mark, value in zip(marked, given, strict=True) if isinstance(value, torch.Tensor)]
        if all(isinstance(mark, _Place) for mark in taken):  # else a default is a tensor
            self._known[form] = _Known(tuple(m.at for m in taken), axes, tuple(sorted(axes.items())))

    def _axes(self, given: Sequence[Any]) -> dict[str, int]:
        """Sizes of a call; KernelRefused where its arguments are not built like the problem's."""
        tensors = split_arguments(self.problem, given)
        leaves, spec = pytree.tree_flatten(list(given))
        form = spec, [isinstance(leaf, torch.Tensor) for leaf in leaves]
        if form not in self._forms:
            self._check_form(given, form[1])
            self._forms.append(form)
        return axes_of(
            self.problem, dict(zip((spec.name for spec in self.problem.inputs), tensors, strict=True))
        )

    def _check_form(self, given: Sequence[Any], tensors: Sequence[bool]) -> None:
        """The arguments in their places; names tell where something is in a list or a dict."""
        problem, nested = self.problem, any(not pytree.tree_is_leaf(argument) for argument in given)
        places: Sequence[Any] = range(len(given))
        held: list[Any] = [spec.position for spec in problem.scalars]
        if nested:
            places, held = input_names(self.original, given), [spec.name for spec in problem.scalars]
        found = [place for place, tensor in zip(places, tensors, strict=True) if not tensor]
        inputs = [place for place, tensor in zip(places, tensors, strict=True) if tensor]
        if found != held or (nested and inputs != [spec.name for spec in problem.inputs]):
            raise KernelRefused("the arguments are not in the places that they have in the problem")

    def _ready(self, axes: dict[str, int], key: _Point) -> Runner:
        """The runner for these shapes, its weights up to date."""
        weights, mutated = self._weights(), self.problem.mutated
        versions = tuple(
            [_version_of(name, tensor) for name, tensor in weights.items() if name not in mutated]
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
        try:
            return Runner(self.kernel, self.build, self.problem, axes, device)
        except (KernelFault, PlanRefused) as error:
            raise KernelRefused(f"the kernel cannot be loaded: {first_line(error)}") from error

    def _weights(self) -> dict[str, torch.Tensor]:
        original = self._modules.get("original")  # `self.original` takes a microsecond
        if original is None:
            return {}
        kept = self._held.tensors() if self._held is not None else None
        if kept is not None:
            return kept
        names = [spec.name for spec in self.problem.weights]
        self._held = Held.of(original, names)
        if self._held is not None:
            return self._held.tensors() or {}
        found = module_tensors(original)
        return {name: found[name] for name in names if name in found}

    def _structure(self, point: _Point) -> _Structure:
        """How results are put together; KernelRefused where that is not known yet."""
        for known in (point, None):
            if known in self._structures:
                return self._structures[known]
        raise KernelRefused("what the original returns is learnt from its first call")

    def _learn(self, result: Any, point: _Point | None) -> None:
        """Take the structure of results, and what in it is no tensor, from one result.

        What is no tensor may depend on sizes: it holds for these alone.
        """
        leaves, spec = pytree.tree_flatten(result)
        kept = [_HOLE if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        if kept.count(_HOLE) != len(self.problem.outputs):
            return
        if len(kept) == len(self.problem.outputs):
            self._structures[None] = kept, spec
        elif point is not None:
            self._structures[point] = kept, spec


def _version_of(name: str, weight: torch.Tensor) -> tuple[Any, ...]:
    """Another one whenever a weight is another; KernelRefused for one whose changes cannot be seen."""
    if weight.is_inference():
        raise KernelRefused(f"weight '{name}' is an inference tensor, whose changes torch does not count")
    if not weight.is_contiguous():
        raise KernelRefused(f"weight '{name}' is not contiguous: a copy would not follow its changes")
    return weight.data_ptr(), weight._version, weight.shape


def _tensors_of(given: Sequence[Any]) -> list[torch.Tensor]:
    """All tensors among arguments, nested ones too, in order."""
    if all(type(each) in _PLAIN_LEAVES for each in given):
        return [each for each in given if isinstance(each, torch.Tensor)]
    return [leaf for leaf in pytree.tree_leaves(list(given)) if isinstance(leaf, torch.Tensor)]


def _restored(structure: _Structure, outputs: Sequence[torch.Tensor]) -> Any:
    kept, spec = structure
    if len(kept) == 1 and kept[0] is _HOLE and spec.is_leaf():
        return outputs[0]
    remaining = iter(outputs)
    return pytree.tree_unflatten([next(remaining) if leaf is _HOLE else leaf for leaf in kept], spec)


def _transformed() -> bool:
    """Whether a tracer, torch.func, forward-mode differentiation or a dispatch mode looks on."""
    return (
        torch._C._get_tracing_state() is not None
        or torch._C._functorch.peek_interpreter_stack() is not None
        or forward_ad._current_level >= 0
        or torch._C._len_torch_dispatch_stack() > 0
    )
