"""`lower`: a group of graph nodes becomes one loop nest, or says why it cannot.

Two passes. The first finds which tensor dimensions are the same loop (`graph.atoms`); the second
writes the nodes of the loop form. Views cost nothing: they only say how a load walks its buffer.
`Mismatch` means that the group does not fit one nest; `graph.cut` then keeps it apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import fx

from kernelwright.core.dtypes import FLOATS, Dtype
from kernelwright.graph.atoms import Atoms, Factors, Mismatch
from kernelwright.graph.loops import (
    Access,
    Apply,
    Const,
    Index,
    Load,
    Node,
    Reduce,
    ReduceOp,
    Region,
    SizeOf,
    Store,
)
from kernelwright.graph.nest import Nest, contiguous_strides
from kernelwright.graph.scalar_ops import (
    COSTLY,
    Number,
    computed,
    dtype_of,
    expand_op,
    is_pointwise,
    op_name,
)
from kernelwright.graph.views import View, apply_view, shape_of, view_name, whole_buffer

_REDUCTIONS: dict[str, ReduceOp] = {
    "sum": "sum", "mean": "sum", "amax": "max", "amin": "min", "prod": "prod", "any": "max", "all": "min",
}  # fmt: skip

_REPEATS = 4
"""How often a costly operation may be repeated rather than kept in a buffer."""
_COUNTED = 16
"""Reduced elements from which an integer literal that equals their number is taken to be it."""


def is_reduction(node: fx.Node) -> bool:
    """Whether the node folds dimensions in a way that the loop form has."""
    name = op_name(node)
    if name not in _REDUCTIONS:
        return False
    source = node.args[0].meta["val"]  # type: ignore[union-attr]
    return bool(source.dim() > 0 and source.numel() > 0)


def is_computed(node: fx.Node) -> bool:
    """Whether a loop nest can compute the node."""
    return is_pointwise(node) or is_reduction(node)


@dataclass
class Lowering:
    """One attempt to write `group` (in graph order) as a loop nest.

    `buffer_of` names the buffer that holds a node computed elsewhere, or gives the number that a
    constant is; `stores` says into which buffers a node of the group is written.
    """

    group: Sequence[fx.Node]
    buffer_of: Callable[[fx.Node], str | Number]
    stores: Mapping[fx.Node, Sequence[str]]
    atoms: Atoms = field(default_factory=Atoms)
    _views: dict[fx.Node, View] = field(default_factory=dict)
    _base: dict[fx.Node, fx.Node] = field(default_factory=dict)
    _reduced: list[Factors] = field(default_factory=list)
    _nodes: list[Node] = field(default_factory=list)
    _number: dict[Node, int] = field(default_factory=dict)
    _written: dict[fx.Node, int] = field(default_factory=dict)
    _count: int = 0

    def region(self, name: str) -> Region:
        """The loop nest; Mismatch if there is none."""
        members = set(self.group)
        for node in self.group:
            self._views[node] = self._shaped(node, members)
        for node in self.stores:
            self._view(node, members)
        reduced = self._one_reduction()
        factors = self._factors()
        self._count = self.atoms.extent(tuple(reduced)) if reduced else 0
        self._check(factors, reduced)
        self._check_repeated(factors, reduced)
        for node in self.group:
            self._written[node] = self._write(node)
        stores = self._stored()
        nest = Nest(self.atoms, factors, reduced, self._nodes, stores)
        return nest.region(name, self._compute_dtype())

    # ---- first pass: which dimensions are the same loop

    def _view(self, node: fx.Node, members: set[fx.Node]) -> View:
        if node in self._views:
            return self._views[node]
        self._views[node] = found = self._chain(node, members)
        return found

    def _chain(self, node: fx.Node, members: set[fx.Node]) -> View:
        """A view and what it is of; every chain that ends at a buffer has factors of its own."""
        if view_name(node) is not None and node not in members:
            source = node.args[0]
            assert isinstance(source, fx.Node)
            of = self._views[source] if source in members else self._chain(source, members)
            self._base[node] = self._base.get(source, source)
            return apply_view(self.atoms, node, of)
        return whole_buffer(self.atoms, shape_of(node))

    def _shaped(self, node: fx.Node, members: set[fx.Node]) -> View:
        operands = [self._view(arg, members) for arg in node.all_input_nodes]
        if is_reduction(node):
            return self._folded(node, operands[0])
        return View(tuple(self._broadcast(operands, shape_of(node))))

    def _broadcast(self, operands: Sequence[View], shape: Sequence[int]) -> list[Factors]:
        dims: list[Factors] = []
        for back in range(len(shape), 0, -1):
            same = [view.dims[-back] for view in operands if len(view.dims) >= back and view.dims[-back]]
            for other in same[1:]:
                self.atoms.unify(same[0], other)
            dims.append(same[0] if same else self.atoms.new(shape[len(shape) - back]))
        return dims

    def _folded(self, node: fx.Node, of: View) -> View:
        rank = len(of.dims)
        over = _dims_of(node, rank)
        self._reduced.append(tuple(factor for dim in sorted(over) for factor in of.dims[dim]))
        if len(shape_of(node)) == rank:
            return View(tuple(() if dim in over else of.dims[dim] for dim in range(rank)))
        return View(tuple(of.dims[dim] for dim in range(rank) if dim not in over))

    # ---- what the dimensions have become

    def _one_reduction(self) -> frozenset[int]:
        sets = {frozenset(self.atoms.resolve(factors)) for factors in self._reduced} - {frozenset()}
        if len(sets) > 1:
            raise Mismatch("reductions over different dimensions")
        return next(iter(sets), frozenset())

    def _factors(self) -> list[int]:
        """All loops, in the order in which they are met."""
        found: dict[int, None] = {}
        read = [arg for node in self.group for arg in node.all_input_nodes]
        for node in (*read, *self.group, *self.stores):
            flat = self._resolved(node)
            if len(flat) != len(set(flat)):
                raise Mismatch("two dimensions of one tensor are the same loop")
            found.update(dict.fromkeys(flat))
        return list(found)

    def _check(self, factors: Sequence[int], reduced: frozenset[int]) -> None:
        kept = set(factors) - reduced
        for node in self.group:
            if is_reduction(node) and set(self._resolved(node)) != kept and self._folds(node):
                raise Mismatch("a reduction that would be computed again and again")
        for node in self.stores:
            have = set(self._resolved(node))
            if have != (set(factors) if have & reduced else kept):
                raise Mismatch("a stored value that would be written again and again")

    def _check_repeated(self, factors: Sequence[int], reduced: frozenset[int]) -> None:
        """Costly operations on a small tensor stay apart if the nest would repeat them in its vector loop."""
        if not self.group:
            return
        innermost = max((self._resolved(node) for node in self.group), key=len)[-1:]
        folded: set[fx.Node] = set()
        for node in self.group:
            if is_reduction(node) or any(self._base.get(arg, arg) in folded for arg in node.all_input_nodes):
                folded.add(node)
            have = set(self._resolved(node))
            if op_name(node) not in COSTLY or not set(innermost) & have:
                continue
            rest = set(factors) - have - (reduced if node in folded else frozenset())
            if math.prod(self.atoms.size(factor) for factor in rest) > _REPEATS:
                raise Mismatch("a costly operation that would be computed again and again")

    def _resolved(self, node: fx.Node) -> Factors:
        return self.atoms.resolve(factor for dim in self._views[node].dims for factor in dim)

    def _folds(self, node: fx.Node) -> bool:
        of = self._views[node.all_input_nodes[0]]
        return any(self.atoms.resolve(of.dims[dim]) for dim in _dims_of(node, len(of.dims)))

    # ---- second pass: nodes of the loop form

    def value(self, argument: Any, dtype: Dtype) -> int:
        """Index of an operand's value, converted to `dtype`."""
        if not isinstance(argument, fx.Node):
            return self._literal(argument, dtype)
        at, have = self._operand(argument)
        if isinstance(self._nodes[at], Const):
            return self.const(self._nodes[at].value, dtype)  # type: ignore[union-attr]
        return at if have == dtype else self.apply("cast", (at,), dtype)

    def const(self, value: Number, dtype: Dtype) -> int:
        """Index of a literal."""
        kind: type[int | float | bool] = bool if dtype == "bool" else float if dtype in FLOATS else int
        return self._add(Const(kind(value), dtype))

    def _literal(self, value: Number, dtype: Dtype) -> int:
        """A literal argument; the number of reduced elements, or one less, is said as that.

        Where it is so by chance the kernel is still right, and at other sizes the nests are seen to differ.
        """
        lost = self._count - value
        if type(value) is not int or self._count < _COUNTED or dtype not in FLOATS or lost not in (0, 1):
            return self.const(value, dtype)
        size = self._add(SizeOf((), dtype))
        return self.apply("sub", (size, self.const(1, dtype)), dtype) if lost else size

    def index(self, node: fx.Node) -> int:
        """Position along the only dimension of `node`; an `Index` holds its *factor* until `Nest`."""
        place, inner = self.const(0, "int64"), 1
        for factor in reversed(self.atoms.resolve(self._views[node].dims[0])):
            step = self._add(Index(factor))
            if inner != 1:
                step = self.apply("mul", (step, self.const(inner, "int64")), "int64")
            place = step if inner == 1 else self.apply("add", (place, step), "int64")
            inner *= self.atoms.size(factor)
        return place

    def apply(self, op: str, args: tuple[int, ...], dtype: Dtype) -> int:
        """Index of a scalar operation."""
        return self._add(Apply(op, args, dtype))

    def _add(self, node: Node) -> int:
        key = node
        if isinstance(node, Const):  # 1, 1.0 and True are equal, and so are 0.0 and -0.0
            key = Apply(f"const {node.value!r}", (), node.dtype)
        if key not in self._number:
            self._number[key] = len(self._nodes)
            self._nodes.append(node)
        return self._number[key]

    def _operand(self, node: fx.Node) -> tuple[int, Dtype]:
        dtype = dtype_of(node.meta["val"])
        base = self._base.get(node, node)
        if base in self._written:
            return self._written[base], computed(dtype)
        held = self.buffer_of(base)
        if not isinstance(held, str):
            return self.const(held, computed(dtype)), computed(dtype)
        return self._add(Load(self._access(held, self._views[node]), dtype)), computed(dtype)

    def _access(self, buffer: str, view: View) -> Access:
        """Strides by *factor*; `Nest` turns them into strides by dimension."""
        assert view.walks is not None
        strides: dict[int, int] = {}
        outer = contiguous_strides([walk.size for walk in view.walks])
        offset = 0
        for walk, stride in zip(view.walks, outer, strict=True):
            offset += walk.offset * stride
            inner = stride * walk.step
            for factor in reversed(self.atoms.resolve(walk.factors)):
                strides[factor] = inner
                inner *= self.atoms.size(factor)
        return Access(buffer, Nest.by_factor(strides), offset)

    def _write(self, node: fx.Node) -> int:
        if not is_reduction(node):
            return expand_op(node, self)
        dtype = computed(dtype_of(node.meta["val"]))
        argument = self.value(node.args[0], "bool" if op_name(node) in ("any", "all") else dtype)
        if not self._folds(node):
            return argument
        total = self._add(Reduce(_REDUCTIONS[op_name(node)], argument, dtype))
        if op_name(node) != "mean":
            return total
        return self.apply("div", (total, self._add(SizeOf((), dtype))), dtype)

    def _stored(self) -> list[Store]:
        found = []
        for node, buffers in self.stores.items():
            shape = shape_of(node)
            value, _ = self._operand(node)
            strides: dict[int, int] = {}
            for dim, stride in zip(self._views[node].dims, contiguous_strides(shape), strict=True):
                inner = stride
                for factor in reversed(self.atoms.resolve(dim)):
                    strides[factor] = inner
                    inner *= self.atoms.size(factor)
            for buffer in buffers:
                access = Access(buffer, Nest.by_factor(strides))
                found.append(Store(access, value, dtype_of(node.meta["val"])))
        return found

    def _compute_dtype(self) -> Dtype:
        types = {node.dtype for node in self._nodes if isinstance(node, Load | Apply | Reduce | Const)}
        return "float64" if "float64" in types else "float32"


def lower(
    group: Sequence[fx.Node],
    buffer_of: Callable[[fx.Node], str | Number],
    stores: Mapping[fx.Node, Sequence[str]],
    name: str,
) -> Region:
    """`group`, in graph order, as one loop nest; Mismatch if it does not fit one."""
    return Lowering(group, buffer_of, stores).region(name)


def _dims_of(node: fx.Node, rank: int) -> set[int]:
    """Dimensions that a reduction folds; all of them where none are named."""
    given = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    if isinstance(given, int) and not isinstance(given, bool):
        given = [given]
    if not isinstance(given, list | tuple) or not given:
        return set(range(rank))
    return {int(dim) % rank for dim in given}


def elements(node: fx.Node) -> int:
    """Number of elements of the node's tensor."""
    return math.prod(shape_of(node))
