"""Where a model's time goes, part by part, on batches of its user's.

    parts = survey(model, batches)      # every submodule that ran: its time, the form of its arguments

A clock goes around each part's `forward`. Time of a part holds that of the parts inside it; `library_s` is
what of it went to products, convolutions and lookups, which no kernel of ours replaces. Nothing of the
arguments is kept but their form; `arguments` runs a batch again for the few parts that are wanted.

Not covered: calls of `forward` that go around `__call__`, and methods of other names.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from kernelwright.core.errors import UsageError, boundary
from kernelwright.execute.positional import positional
from kernelwright.execute.reports import KernelRefused
from kernelwright.integrate.batch import Batch
from kernelwright.integrate.tensors import copied, tensors_in, wait_for_device

PASSES = 3
"""Timed passes over each batch, after one that is not timed; the shortest counts: others only add to it."""
LIBRARY = (
    nn.Linear, nn.Bilinear, nn.Embedding, nn.EmbeddingBag, nn.MultiheadAttention, nn.RNNBase,
    nn.modules.conv._ConvNd,
)  # fmt: skip
"""Parts whose work is a library's."""


@dataclass
class Part:
    """One submodule, as it ran on the batches."""

    name: str
    """Qualified; empty for the model itself."""
    module: nn.Module
    calls: float = 0.0
    """Per batch."""
    seconds: float = 0.0
    """Per batch, all calls together."""
    library_s: float = 0.0
    """Of these, in parts whose work is a library's."""
    forms: list[str] = field(default_factory=list)
    """Forms of the arguments that it was called with, each once."""
    nbytes: float = 0.0
    """Tensors of its arguments and results, per batch."""


def survey(model: nn.Module, batches: Sequence[Batch]) -> list[Part]:
    """Run the batches with a clock around every part; parts that ran, in the order of `named_modules`."""
    watch = _Watch(model)
    with (
        buffers_kept(model),
        watch.hooked(),
        boundary(UsageError, "the model raises on the batches that were given"),
    ):
        for batch in batches:
            watch.passes(batch)
    return watch.found(len(batches))


def arguments(
    model: nn.Module, batches: Sequence[Batch], names: Collection[str]
) -> dict[str, tuple[Any, ...]]:
    """Arguments of the first call of each of these parts, by position, copied before it runs.

    Parts of which some arguments can only be given by name are left out.
    """
    kept: dict[str, tuple[Any, ...]] = {}

    def keep(name: str, module: nn.Module, args: Any, kwargs: Any) -> None:
        if name not in kept:
            with suppress(KernelRefused):
                kept[name] = copied(tuple(positional(module.forward, args, kwargs)))

    with buffers_kept(model), ExitStack() as hooks:
        for name, module in model.named_modules():
            if name in names:
                hook = module.register_forward_pre_hook(
                    lambda module, args, kwargs, name=name: keep(name, module, args, kwargs), with_kwargs=True
                )
                hooks.callback(hook.remove)
        for batch in batches:
            if len(kept) < len(names):
                batch.run(model)
    return kept


@contextmanager
def buffers_kept(model: nn.Module) -> Iterator[None]:
    """Whatever runs meanwhile: the model's buffers are afterwards what they were, in the same tensors."""
    held = [
        (part, name, tensor, tensor.detach().clone())
        for part in model.modules()
        for name, tensor in part._buffers.items()
        if tensor is not None and not tensor.is_meta
    ]
    try:
        yield
    finally:
        with torch.no_grad():
            for part, name, tensor, before in held:
                if not torch.equal(tensor, before):
                    tensor.copy_(before)
                part._buffers[name] = tensor


class _Watch:
    """Clocks around all parts of one model."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.parts = {id(module): Part(name, module) for name, module in model.named_modules()}
        self._begun: list[tuple[Part, float, float]] = []
        """Parts that run now: when they began, and the library's time inside them."""
        self._spent: dict[int, tuple[float, float]] = {}
        """By part: seconds and the library's seconds in this pass."""
        self._timed = False

    @contextmanager
    def hooked(self) -> Iterator[None]:
        """With hooks on every part."""
        with ExitStack() as hooks:
            for part in self.parts.values():
                before = part.module.register_forward_pre_hook(self._begin, prepend=False, with_kwargs=True)
                after = part.module.register_forward_hook(self._end, prepend=True, with_kwargs=True)
                hooks.callback(before.remove)
                hooks.callback(after.remove)
            yield

    def passes(self, batch: Batch) -> None:
        """One pass that counts, then those that are timed."""
        self._timed = False
        batch.run(self.model)
        self._timed, taken = True, []
        for _ in range(PASSES):
            self._spent = {}
            batch.run(self.model)
            taken.append(self._spent)
        for key in taken[0]:
            part = self.parts[key]
            part.seconds += min(spent.get(key, (0.0, 0.0))[0] for spent in taken)
            part.library_s += min(spent.get(key, (0.0, 0.0))[1] for spent in taken)

    def found(self, batches: int) -> list[Part]:
        """Parts that ran, per batch."""
        ran = [part for part in self.parts.values() if part.calls]
        for part in ran:
            part.calls, part.nbytes = part.calls / batches, part.nbytes / batches
            part.seconds, part.library_s = part.seconds / batches, part.library_s / batches
        return ran

    def _begin(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        part = self.parts[id(module)]
        if not self._timed:
            form = form_of(args, kwargs)
            part.forms += [] if form in part.forms else [form]
        self._begun.append((part, self._now(), 0.0))

    def _end(self, module: nn.Module, args: Any, kwargs: Any, result: Any) -> None:
        now = self._now()
        part, begun, inside = self._begun.pop()
        while part.module is not module:  # it raised, and the model went on without it
            part, begun, inside = self._begun.pop()
        taken = now - begun
        library = taken if isinstance(module, LIBRARY) else inside
        if self._begun:
            outer, when, more = self._begun[-1]
            self._begun[-1] = outer, when, more + library
        if self._timed:
            seconds, before = self._spent.get(id(module), (0.0, 0.0))
            self._spent[id(module)] = seconds + taken, before + library
        else:
            part.calls += 1
            part.nbytes += sum(leaf.nbytes for leaf in tensors_in((args, kwargs, result)))

    def _now(self) -> float:
        wait_for_device()
        return time.perf_counter()


def form_of(args: Any, kwargs: Any) -> str:
    """Types, shapes and strides of arguments, as text; what is no tensor by its value."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    return f"{[_form(leaf) for leaf in leaves]} {spec}"


def _form(leaf: Any) -> str:
    if isinstance(leaf, torch.Tensor):
        return f"{leaf.dtype}{list(leaf.shape)}@{list(leaf.stride())}"
    return f"{type(leaf).__name__} {leaf!r}"[:100]
