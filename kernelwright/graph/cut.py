"""`cut`: a captured graph as ordered loop nests and library calls, with the buffers between them.

Pointwise operations, reductions and views become loop nests as large as they can be (`graph.fuse`,
`graph.lower`); all else stays a library call. The partition is for the sizes that were captured:
its domain says so for every axis. What a plan cannot hold (random numbers, constants of more than
one element, sizes that depend on values) raises `ProblemError`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

from kernelwright.core.errors import ProblemError
from kernelwright.core.plan import Buffer, Role
from kernelwright.graph.atoms import Mismatch
from kernelwright.graph.capture import Captured
from kernelwright.graph.chains import only_permuted, only_reshaped, stays_inside, strided, viewed
from kernelwright.graph.fuse import Fusion
from kernelwright.graph.library_steps import LibraryStep, library_step, results
from kernelwright.graph.loops import Load, Region
from kernelwright.graph.lower import is_computed, lower
from kernelwright.graph.scalar_ops import Number, dtype_of
from kernelwright.graph.views import shape_of, view_name


@dataclass(frozen=True, slots=True)
class CopyStep:
    """Copy one buffer onto another of the same size."""

    source: str
    destination: str


@dataclass(frozen=True)
class Partition:
    """Steps in order, the buffers that they use, and the axes for which they are right."""

    steps: tuple[Region | LibraryStep | CopyStep, ...]
    buffers: tuple[Buffer, ...]
    domain: str

    @property
    def regions(self) -> tuple[Region, ...]:
        """The loop nests, in order."""
        return tuple(step for step in self.steps if isinstance(step, Region))


def cut(captured: Captured, axes: Mapping[str, int]) -> Partition:
    """Cut the decomposed graph; `axes` are the sizes at which it was captured."""
    if captured.random:
        raise ProblemError("the reference draws random numbers; no kernel can be proposed for it")
    return _Cut(captured).partition(" and ".join(f"{name} == {size}" for name, size in axes.items()))


@dataclass
class _Cut:
    captured: Captured
    _buffers: dict[str, Buffer] = field(default_factory=dict)
    _homes: dict[fx.Node, str] = field(default_factory=dict)
    """The buffer that holds a node; of a library call with several results, those of its `getitem` nodes."""
    _stores: dict[fx.Node, list[str]] = field(default_factory=dict)
    _steps: list[Region | LibraryStep | CopyStep] = field(default_factory=list)

    def partition(self, domain: str) -> Partition:
        live = self._live()
        real = [node for node in live if view_name(node) is None and node.target is not operator.getitem]
        fusion = Fusion(real, lambda node: [viewed(arg) for arg in node.all_input_nodes])
        self._name_placeholders()
        fusion.merge(is_computed, self._fits)
        groups = fusion.groups()
        copies = self._name_results()
        self._name_between(groups, live, copies)
        for group in groups:
            self._add(group)
        self._steps += self._copied(copies)
        self._spare_what_is_read()
        used = self._used()
        return Partition(
            tuple(self._steps), tuple(b for b in self._buffers.values() if b.name in used), domain
        )

    # ---- names of buffers

    def _results(self) -> list[tuple[str, Any, Role]]:
        tensors = [node for node in self.captured.outputs if isinstance(node, fx.Node)]
        single = len(tensors) == 1
        named: list[tuple[str, Any, Role]] = [
            ("out" if single else f"out{at}", node, "output") for at, node in enumerate(tensors)
        ]
        return named + [(name, node, "mutated") for name, node in self.captured.mutations.items()]

    def _live(self) -> list[fx.Node]:
        """Operations that an output or a mutation depends on, in graph order."""
        waiting = [node for _, node, _ in self._results()]
        seen: set[fx.Node] = set(waiting)
        while waiting:
            fresh = [arg for arg in waiting.pop().all_input_nodes if arg not in seen]
            seen.update(fresh)
            waiting += fresh
        return [node for node in self.captured.nodes if node in seen]

    def _name_placeholders(self) -> None:
        for node in self.captured.graph_module.graph.nodes:
            held = self.captured.placeholders.get(node.name)
            if node.op != "placeholder" or held is None or held.kind == "constant":
                continue
            role: Role = "mutated" if held.name in self.captured.mutations else held.kind
            self._homes[node] = held.name
            self._buffer(held.name, role, node)

    def _name_results(self) -> list[tuple[fx.Node, str]]:
        """Give computed results their buffers; what is left over has to be copied at the end."""
        copies: list[tuple[fx.Node, str]] = []
        for name, node, role in self._results():
            self._buffer(name, role, node)
            base = viewed(node)
            stored = base if only_reshaped(node) else node
            if is_computed(base) and (stored is base or only_permuted(node)):
                self._stores.setdefault(stored, []).append(name)
                if stored is base:
                    self._homes.setdefault(base, name)
            elif base.op != "placeholder" and stored is base and base not in self._homes and role == "output":
                self._homes[base] = name
            else:
                copies.append((node, name))
        return copies

    def _name_between(
        self,
        groups: list[tuple[fx.Node, ...]],
        live: list[fx.Node],
        copies: list[tuple[fx.Node, str]],
    ) -> None:
        """Scratch buffers for what one step computes and another reads."""
        owner = {node: at for at, group in enumerate(groups) for node in group}
        for node, _ in copies:
            if is_computed(viewed(node)):
                self._scratch(viewed(node), stored=True)
        for node in live:
            for arg in (viewed(arg) for arg in node.all_input_nodes if view_name(node) is None):
                if arg in owner and is_computed(arg) and owner.get(node) != owner[arg]:
                    self._scratch(arg, stored=True)
        for node in owner:
            if not is_computed(node) and results(node) == 1:
                self._scratch(node, stored=False)
        for node in live:
            if node.target is operator.getitem:
                self._scratch(node, stored=False)

    def _scratch(self, node: fx.Node, stored: bool) -> None:
        if node in self._homes:
            return
        name = f"t_{node.name}"
        self._homes[node] = name
        self._buffer(name, "scratch", node)
        if stored:
            self._stores.setdefault(node, []).append(name)

    def _buffer(self, name: str, role: Role, node: fx.Node) -> None:
        try:
            shape, dtype = shape_of(node), dtype_of(node.meta["val"])
        except Mismatch as reason:
            raise ProblemError(f"'{name}' cannot be a buffer of a plan: {reason}") from reason
        if role != "mutated" or name not in self._buffers:
            self._buffers[name] = Buffer(name=name, role=role, dtype=dtype, shape=tuple(shape))

    # ---- steps

    def _fits(self, group: Iterable[fx.Node]) -> bool:
        members = list(group)
        inside = set(members)
        ends = {node: ["out"] for node in members if not stays_inside(node, inside)}
        try:
            lower(members, self._held, ends, "probe")
        except Mismatch:
            return False
        return True

    def _held(self, node: fx.Node) -> str | Number:
        placeholder = self.captured.placeholders.get(node.name)
        if placeholder is not None and placeholder.kind == "constant":
            return _number(placeholder.tensor, node)
        return self._homes.get(node, f"t_{node.name}")

    def _add(self, group: tuple[fx.Node, ...]) -> None:
        (first, *_) = group
        if not is_computed(first):
            self._steps.append(library_step(first, self._argument, self._filled(first)))
            return
        inside = set(group)
        stores = {node: names for node, names in self._stores.items() if viewed(node) in inside}
        self._region(group, stores)

    def _region(self, group: tuple[fx.Node, ...], stores: dict[fx.Node, list[str]]) -> None:
        name = f"r{len([step for step in self._steps if isinstance(step, Region)])}"
        try:
            self._steps.append(lower(group, self._held, stores, name))
        except Mismatch as reason:
            raise ProblemError(f"no loop nest for {[node.name for node in group]}: {reason}") from reason

    def _copied(self, copies: list[tuple[fx.Node, str]]) -> Iterable[CopyStep]:
        """Results that no step writes: a buffer as it is, or a view of one."""
        for node, name in copies:
            if only_reshaped(node) and isinstance(self._held(viewed(node)), str):
                yield CopyStep(str(self._held(viewed(node))), name)
            else:
                self._region((), {node: [name]})

    def _filled(self, node: fx.Node) -> tuple[str, ...]:
        count = results(node)
        if count == 1 and not isinstance(node.meta["val"], list | tuple):
            return (self._homes[node],)
        parts = {user.args[1]: self._homes[user] for user in node.users if user in self._homes}
        for at in range(count):
            if at not in parts:
                parts[at] = f"t_{node.name}_{at}"
                value = node.meta["val"][at]
                self._buffers[parts[at]] = Buffer(
                    name=parts[at], role="scratch", dtype=dtype_of(value), shape=tuple(value.shape)
                )
        return tuple(parts[at] for at in range(count))

    def _argument(self, node: fx.Node) -> dict[str, Any]:
        """An operand of a library call: a buffer, a strided view of one, or a copy of what is neither."""
        base = viewed(node)
        if isinstance(self._held(base), str):
            strides = strided(node)
            if strides is not None:
                shape, steps, offset = strides
                view = {"shape": shape, "strides": steps, "offset": offset}
                return {"buffer": self._held(base), **({} if node is base else view)}
        name = f"t_{node.name}_copy"
        self._buffer(name, "scratch", node)
        self._region((), {node: [name]})
        return {"buffer": name}

    def _spare_what_is_read(self) -> None:
        """A buffer that is changed in place while another step, or another element, reads its old value."""
        for at, step in enumerate(list(self._steps)):
            if not isinstance(step, Region):
                continue
            for store in step.stores:
                name = store.access.buffer
                if self._buffers[name].role == "mutated" and not self._safe(at, step, name):
                    raise ProblemError(f"'{name}' is changed in place while another step reads it")

    def _safe(self, at: int, region: Region, name: str) -> bool:
        access = next(store.access for store in region.stores if store.access.buffer == name)
        own = all(n.access == access for n in region.nodes if isinstance(n, Load) and n.access.buffer == name)
        return own and not any(name in read_by(step) for step in self._steps[at + 1 :])

    def _used(self) -> set[str]:
        found = {name for name, _, _ in self._results()}
        for step in self._steps:
            found |= read_by(step)
            if isinstance(step, Region):
                found |= {store.access.buffer for store in step.stores}
            elif isinstance(step, LibraryStep):
                found |= set(step.outputs)
        return found


def _number(tensor: torch.Tensor | None, node: fx.Node) -> Number:
    if tensor is None or tensor.numel() != 1 or tensor.is_meta:
        raise ProblemError(
            f"the reference holds the constant tensor '{node.name}'; make it a buffer of the module"
        )
    value: Number = tensor.item()
    return value


def read_by(step: Region | LibraryStep | CopyStep) -> set[str]:
    """Names of the buffers that a step reads."""
    if isinstance(step, CopyStep):
        return {step.source}
    if isinstance(step, Region):
        return {node.access.buffer for node in step.nodes if isinstance(node, Load)}
    return {name for value in (*step.inputs, *step.keywords.values()) for name in _buffers_in(value)}


def _buffers_in(value: Any) -> Iterable[str]:
    if isinstance(value, dict) and "buffer" in value:
        yield value["buffer"]
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _buffers_in(item)
