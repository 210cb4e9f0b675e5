"""`Body`: where each node of a region is computed, and the C++ that computes it.

Loops are either outside the vector loop, which runs along dimension `inner`, or are it. A node that
does not vary along `inner` is a single value, declared as `t<number>`; one that does is lanes. What
lanes need of single values is spread (`s<number>`) before the vector loop begins.

Sizes and strides that are numbers are literals of the text. Those that are expressions are computed
from the axes they name, which the entry takes as `n_<axis>`; along `inner` all strides are numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kernelwright.core.dtypes import Dtype
from kernelwright.core.expr import Expr
from kernelwright.core.plan import BufferArg, Call, IntArg
from kernelwright.graph.loops import (
    Access,
    Apply,
    Const,
    Index,
    Load,
    Node,
    Reduce,
    Region,
    SizeOf,
    Store,
    operands,
)
from kernelwright.propose.templates.cpp.sizes import axes_of, product, text_of
from kernelwright.propose.templates.cpp.text import C_TYPES, Text, literal, load, operation, store, value_type

_LANE_TYPES = frozenset({"float32", "bool"})
_LANE_LOADS = frozenset({"float32", "float16", "bfloat16", "bool"})
_FOLDS = {"sum": "Sum", "max": "Max", "min": "Min", "prod": "Prod"}


@dataclass
class Body:
    """Text of one entry for `region`, its vector loop along `inner` (None where it has no loops)."""

    region: Region
    entry: str
    inner: int | None
    reciprocal: bool = False
    """Whether lanes are divided by a single value through its reciprocal."""
    text: Text = field(default_factory=Text)

    def __post_init__(self) -> None:
        self.varies = self._variation()
        self.lanes = self.inner is not None and self._has_lanes()
        self.pointers = self._pointers()
        self.axes = axes_of(self.region)

    # ---- what varies along what

    def _variation(self) -> list[frozenset[int]]:
        kept = frozenset(range(len(self.region.dims))) - self.region.reduced
        found: list[frozenset[int]] = []
        for node in self.region.nodes:
            match node:
                case Load(access=access):
                    found.append(frozenset(d for d, stride in enumerate(access.strides) if stride))
                case Reduce():
                    found.append(kept)
                case Apply(args=args):
                    found.append(frozenset().union(*(found[arg] for arg in args)))
                case Const() | SizeOf():
                    found.append(frozenset())
                case _:
                    found.append(frozenset({node.dim}))
        return found

    def wide(self, at: int) -> bool:
        """Whether node `at` varies along the vector loop."""
        return self.inner in self.varies[at]

    def _has_lanes(self) -> bool:
        assert self.inner is not None
        for at, node in enumerate(self.region.nodes):
            if not self.wide(at) and not isinstance(node, Reduce):
                continue
            match node:
                case Load(dtype=dtype, access=access):
                    if dtype not in _LANE_LOADS or (dtype != "float32" and access.strides[self.inner] != 1):
                        return False
                case Reduce(dtype=dtype):
                    if dtype != "float32":
                        return False
                case Apply(dtype=dtype):
                    if dtype not in _LANE_TYPES:
                        return False
                case _:
                    return False
        return all(self._lane_store(item) for item in self.region.stores if self.wide(item.value))

    def _lane_store(self, item: Store) -> bool:
        assert self.inner is not None
        return item.dtype == "float32" or (item.dtype in _LANE_LOADS and item.access.strides[self.inner] == 1)

    # ---- the function

    def _pointers(self) -> dict[str, str]:
        accesses = [node.access for node in self.region.nodes if isinstance(node, Load)]
        accesses += [item.access for item in self.region.stores]
        return {name: f"b{at}" for at, name in enumerate(dict.fromkeys(access.buffer for access in accesses))}

    def signature(self) -> str:
        """First line of the entry."""
        types = {node.access.buffer: node.dtype for node in self.region.nodes if isinstance(node, Load)}
        types.update({item.access.buffer: item.dtype for item in self.region.stores})
        written = {item.access.buffer for item in self.region.stores}
        parameters = [
            f"{'' if name in written else 'const '}{C_TYPES[types[name]]} *{pointer}"
            for name, pointer in self.pointers.items()
        ]
        parameters += [f"int64_t {text_of(axis)}" for axis in self.axes]
        return f'extern "C" void {self.entry}({", ".join(parameters)}) {{'

    def call(self) -> Call:
        """The plan step that calls the entry."""
        buffers = (BufferArg(buffer=name) for name in self.pointers)
        return Call(entry=self.entry, args=(*buffers, *(IntArg(value=axis) for axis in self.axes)))

    # ---- nodes

    def closure(self, targets: Iterable[int], known: Iterable[int] = ()) -> list[int]:
        """Nodes to compute for `targets`, in order, without reductions and what is `known`."""
        stop = set(known)
        needed: set[int] = set()
        waiting = [at for at in targets if at not in stop]
        while waiting:
            at = waiting.pop()
            if at in needed or isinstance(self.region.nodes[at], Reduce):
                continue
            needed.add(at)
            waiting += [arg for arg in operands(self.region.nodes[at]) if arg not in stop]
        return sorted(needed)

    def pass_of(self, number: int) -> tuple[list[int], list[Store]]:
        """Reductions and full stores of pass `number` over the reduced dimensions."""
        phases, full = self.region.phases, self.region.full
        folds = [
            at
            for at, node in enumerate(self.region.nodes)
            if isinstance(node, Reduce) and phases[at] == number + 1
        ]
        stores = [item for item in self.region.stores if full[item.value] and phases[item.value] == number]
        return folds, stores

    @property
    def passes(self) -> int:
        """Number of passes over the reduced dimensions."""
        full = self.region.full
        last = [self.region.phases[item.value] + 1 for item in self.region.stores if full[item.value]]
        folds = [self.region.phases[at] for at, n in enumerate(self.region.nodes) if isinstance(n, Reduce)]
        return max([*last, *folds], default=0)

    def single(self, nodes: Iterable[int]) -> None:
        """Declare nodes that are single values."""
        for at in nodes:
            node = self.region.nodes[at]
            if not isinstance(node, Const):
                self.text.line(f"const {self.single_type(at)} t{at} = {self._single(node)};")

    def single_type(self, at: int) -> str:
        """C++ type of node `at` as a single value."""
        node = self.region.nodes[at]
        return "int64_t" if isinstance(node, Index) else value_type(node.dtype)

    def _single(self, node: Node) -> str:
        match node:
            case Load():
                return load(node.dtype, self.address(node.access, None), 0, "0", "")
            case Apply():
                return operation(node.op, [self.name(arg) for arg in node.args], node.dtype)
            case SizeOf(dims=dims):
                return f"{value_type(node.dtype)}({self.count(dims)})"
            case Const():
                return literal(node)
        assert isinstance(node, Index)
        return f"i{node.dim}"

    def name(self, at: int, lanes: bool = False) -> str:
        """How an expression refers to node `at`."""
        node = self.region.nodes[at]
        narrow = not self.wide(at)
        if isinstance(node, Const):
            return f"kw::splat({literal(node)})" if lanes else literal(node)
        return f"s{at}" if lanes and narrow else f"t{at}"

    def spread(self, nodes: Iterable[int], extra: Iterable[int] = ()) -> None:
        """Declare `s<number>` for the single values that the lanes of `nodes` need, each once."""
        if not self.lanes:
            return
        used = {arg for at in nodes for arg in operands(self.region.nodes[at])} | set(extra)
        for at in sorted({self._divisor(at) for at in nodes} - {None}, key=str):
            self.text.line(f"const kw::Divisor d{at}({self.name(at or 0)});")
        for at in sorted(used):
            if self.name(at, lanes=True) == f"s{at}":
                self.text.line(f"const auto s{at} = kw::splat(t{at});")

    def _divisor(self, at: int) -> int | None:
        """The single value that node `at` divides lanes by through its reciprocal, if it does."""
        node = self.region.nodes[at]
        if not (self.reciprocal and self.lanes and isinstance(node, Apply) and node.op == "div"):
            return None
        dividend, divisor = node.args
        return divisor if self.wide(dividend) and not self.wide(divisor) else None

    def wide_nodes(self, nodes: Iterable[int], row: tuple[int, int] | None = None) -> None:
        """Declare nodes that vary along the vector loop, at `j`; `row` = (dim, steps along it)."""
        for at in nodes:
            node = self.region.nodes[at]
            self.text.line(f"const {self.lane_type(node)} t{at} = {self._wide(at, node, row)};")

    def lane_type(self, node: Node) -> str:
        """C++ type of the node in the vector loop."""
        dtype: Dtype = "int64" if isinstance(node, Index) else node.dtype
        if not self.lanes:
            return value_type(dtype)
        return "kw::vi" if dtype == "bool" else "kw::vf"

    def _wide(self, at: int, node: Node, row: tuple[int, int] | None) -> str:
        assert self.inner is not None
        match node:
            case Load(access=access):
                step = product([access.strides[row[0]], row[1]]) if row else "0"
                pointer = f"p{at} + {step}" if step != "0" else f"p{at}"
                return load(node.dtype, pointer, int(access.strides[self.inner]), "j", "lanes")
            case Apply():
                args = [self.name(arg, lanes=self.lanes) for arg in node.args]
                if self._divisor(at) is not None:
                    return f"d{self._divisor(at)}.of({args[0]})"
                return operation(node.op, args, node.dtype)
        return "j"

    def write(self, item: Store, number: int, lanes: str, streamed: bool = False, when: str = "") -> None:
        """Store a value at `j`, around the caches if `streamed`, and if `when` holds where one is given."""
        assert self.inner is not None
        value = self.name(item.value, lanes=self.lanes)
        stride = int(item.access.strides[self.inner])
        text = store(item.dtype, f"q{number}", stride, "j", value, lanes, streamed)
        if when:
            other = store(item.dtype, f"q{number}", stride, "j", value, lanes, False)
            text = f"if ({when}) {text} else {other}"
        self.text.line(text)

    def streams(self, at: int) -> bool:
        """Whether node `at` is a contiguous load that never comes back to an element."""
        node = self.region.nodes[at]
        if not isinstance(node, Load) or self.inner is None or len(self.varies[at]) < len(self.region.dims):
            return False
        return node.access.strides[self.inner] == 1

    def write_single(self, item: Store) -> None:
        """Store a single value."""
        address = self.address(item.access, None)
        self.text.line(store(item.dtype, address, 0, "0", self.name(item.value), "", False))

    # ---- addresses

    def address(self, access: Access, without: int | None, shifts: dict[int, str] | None = None) -> str:
        """Pointer to the element at the loops' indexes `i<dim>`, leaving dimension `without` at 0."""
        terms = [self.pointers[access.buffer]]
        for dim, stride in enumerate(access.strides):
            if stride and dim != without:
                index = (shifts or {}).get(dim, f"i{dim}")
                terms.append(index if stride == 1 else f"{index} * {text_of(stride)}")
        if access.offset:
            terms.append(text_of(access.offset))
        return " + ".join(terms)

    def point(self, nodes: Iterable[int], stores: Sequence[tuple[int, Store]] = ()) -> None:
        """Declare the pointers of the loads among `nodes` (`p<number>`) and of `stores` (`q<number>`)."""
        for at in nodes:
            node = self.region.nodes[at]
            if isinstance(node, Load) and self.wide(at):
                self.text.line(f"const auto *p{at} = {self.address(node.access, self.inner)};")
        for number, item in stores:
            self.text.line(f"auto *q{number} = {self.address(item.access, self.inner)};")

    # ---- loops and reductions

    def fold_type(self, at: int, unroll: int) -> str:
        """C++ type of the accumulator of reduction `at`."""
        node = self.region.nodes[at]
        assert isinstance(node, Reduce)
        kind = "kw::vf" if self.lanes else value_type(node.dtype)
        return f"kw::{_FOLDS[node.op]}<{kind}, {unroll}>"

    def decode(self, dims: Sequence[int], flat: str) -> None:
        """Declare `i<dim>` for each of `dims` from one flat index."""
        if not dims:
            return
        self.text.line(f"int64_t rest = {flat};")
        for dim in reversed(dims[1:]):
            size = self.size(dim)
            self.text.line(f"const int64_t i{dim} = rest % {size};")
            self.text.line(f"rest /= {size};")
        self.text.line(f"const int64_t i{dims[0]} = rest;")

    def size(self, dim: int) -> str:
        """Text of the size of a dimension."""
        return text_of(self.region.dims[dim].size)

    def count(self, dims: Iterable[int], *others: Expr) -> str:
        """Text of the product of the sizes of `dims`, and of other numbers."""
        return product([*(self.region.dims[dim].size for dim in dims), *others])

    def tiles(self, dim: int, tile: int) -> Expr:
        """How many tiles a dimension has, the last one perhaps shorter; at least one."""
        size = self.region.dims[dim].size
        return max(1, -(-size // tile)) if isinstance(size, int) else f"({size} + {tile - 1}) // {tile}"

    def extent(self, dims: Iterable[int]) -> int:
        """Product of the sizes of `dims` at the base workload: for choices, not for the text."""
        product = 1
        for dim in dims:
            product *= self.region.dims[dim].extent
        return product
