"""Text of a loop over elements: loads ahead of use, the scalar body per element, folds or stores.

A loop takes `steps` steps, `unroll` at a time: first all loads of a group (so that they are in flight
together), then the arithmetic, then folds or stores. Steps past the end load zeros and are not folded
or stored. Templates say where a step's elements lie; they own everything outside the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kernelwright.graph.loops import Access, Apply, Index, Load, Region
from kernelwright.propose.templates.cuda.emit import STORED, apply_text, cast, closure, ctype_of, inline
from kernelwright.propose.templates.cuda.folds import Fold, is_plain
from kernelwright.propose.templates.cuda.nest import Sizes, Walk
from kernelwright.propose.templates.cuda.pointers import Pointers
from kernelwright.propose.templates.cuda.text import used


@dataclass
class Loop:
    """Where the elements of a step lie; text may use `i` (first step of the group) and `u` (step in it)."""

    region: Region
    sizes: Sizes
    pointers: Pointers
    walk: Walk
    steps: int | str
    """Number of steps, a multiple of `unroll` (text where it is known only at run time)."""
    unroll: int
    step: list[str]
    """Statements that set a step's indexes."""
    ok: str | None
    """Whether a step is inside, as text over those indexes; None if all are."""
    all_ok: str
    """Whether all steps of the group are inside."""
    decompose: list[str]
    """Statements that set `i<dim>` from a step's indexes."""
    flat: str
    """Flat index over `walk.dims` of a step's first element."""
    index: Callable[[int], str]
    """Loop index along a dimension at a step's first element."""
    lanewise: bool = False
    """Whether the V elements of a step belong to V different results (kept nodes are arrays)."""
    held: dict[int, str] = field(default_factory=dict)
    """Load nodes that are at hand, as text of their vector."""
    full_unroll: bool = False
    backward: bool = False
    reads_again: bool = False
    """Whether a later pass loads the same elements, so that they should stay in a cache."""
    known: frozenset[int] = frozenset()
    """Nodes at hand as variables `n<node>`."""
    divisors: frozenset[int] = frozenset()
    """Nodes at hand as variables `d<node>`, to divide by."""
    prelude: list[str] = field(default_factory=list)
    """Statements of a group that set what `held` refers to."""
    length: str = ""
    """Length of a row (or number of results) where vectors may stick out of it, at either end; else empty."""

    @property
    def vector(self) -> int:
        """Elements of a step."""
        return self.walk.vector

    @property
    def split(self) -> bool:
        """Whether a step's elements may cross the innermost size, so that each finds its own indexes."""
        inner = self.sizes.size(self.walk.dims[-1]) if self.walk.dims else 1
        return self.vector > 1 and (inner is None or inner % self.vector != 0)

    # Names -------------------------------------------------------------------------------------

    def name(self, at: int) -> str:
        """A node's value for element `e` of step `u`."""
        plain = inline(self.region, at, lambda node: self.sizes.text(self.sizes.count(node.dims)))
        if plain is not None:
            return plain
        return f"n{at}[e]" if self.lanewise and at in self.known else f"n{at}"

    def element(self, dim: int) -> str:
        """Loop index along `dim` of element `e`."""
        if dim not in self.walk.dims or self.vector == 1:
            return self.index(dim)
        if self.split:
            return f"j{dim}"
        return f"({self.index(dim)} + e)" if dim == self.walk.dims[-1] else self.index(dim)

    # Loads -------------------------------------------------------------------------------------

    def at(self, access: Access) -> str:
        """Element offset of a step's first element."""
        if self.walk.dims and self.sizes.collapses(access, self.walk.dims):
            return self.sizes.offset(access, self.index, (self.walk.dims, self.flat))
        return self.sizes.offset(access, self.index)

    def address(self, access: Access) -> str:
        """Address of a step's first element."""
        return f"{self.pointers.name(access.buffer)} + ({self.at(access)})"

    def width(self, access: Access) -> int:
        """Elements that one load of a step takes; 0 where each element is loaded on its own."""
        shape = self.sizes.shape_of(access, self.walk)
        return {"flat": self.vector, "inner": self.vector, "splat": 1, "gather": 0}[shape]

    def load_text(self, node: Load) -> str:
        """One vector load."""
        width, address = self.width(node.access), self.address(node.access)
        kind = f"{self.pointers.load_hint(node.access, self.reads_again)}, {STORED[node.dtype]}, {width}"
        return (
            f"kw_load_part<{kind}>({address}, {self._place})"
            if self._parts(node.access)
            else (f"kw_load<{kind}>({address})")
        )

    def copy_text(self, node: Load, slot: str) -> str:
        """One vector from memory to `slot`, in the background."""
        kind, address = f"{STORED[node.dtype]}, {self.width(node.access)}", self.address(node.access)
        if self._parts(node.access):
            return f"kw_copy_part<{kind}>({slot}, {address}, {self._place});"
        return f"kw_copy_async<{kind}>({slot}, {address});"

    def _parts(self, access: Access) -> bool:
        """Whether a vector of this access may stick out of its row."""
        return bool(self.length) and self.width(access) == self.vector

    @property
    def _place(self) -> str:
        return f"{self.flat}, {self.length}"

    def inside(self, count: int) -> str:
        """Whether `count` elements from `e` on (or from the first on) are in the row."""
        first = f"{self.flat} + e" if count == 1 else self.flat
        return f"kw_inside<{self.sizes.index}, {count}>({first}, {self.length})"

    def vector_type(self, node: Load) -> str:
        """Type of what one vector load returns."""
        return f"kw_vec<{STORED[node.dtype]}, {self.width(node.access)}>"

    def _loads(self, nodes: Iterable[int]) -> list[tuple[int, Load]]:
        loads = [(at, node) for at in nodes if isinstance(node := self.region.nodes[at], Load)]
        return [(at, node) for at, node in loads if at not in self.held and self.width(node.access)]

    def _load_lines(self, nodes: list[int]) -> list[str]:
        loads = self._loads(nodes)
        if not loads:
            return []
        lines = [f"{self.vector_type(node)} x{at}[{self.unroll}];" for at, node in loads]
        inside = [f"x{at}[u] = {self.guarded_load(node)};" for at, node in loads]
        return [*lines, *self.each_step(inside)]

    def guarded_load(self, node: Load) -> str:
        """One vector load, or zeros past the end."""
        text = self.load_text(node)
        return f"{self.ok} ? {text} : {self.vector_type(node)}{{}}" if self.ok else text

    def each_step(self, inside: list[str]) -> list[str]:
        """`inside` for every step `u` of a group, with the indexes that it refers to."""
        indexes = used([*self.step, *self.decompose], inside)
        return [f"#pragma unroll\nfor (int u = 0; u < {self.unroll}; ++u) {{", *indexes, *inside, "}"]

    # The body ----------------------------------------------------------------------------------

    def statement(self, at: int, target: str) -> str:
        """Compute one node for element `e` of step `u` into `target`."""
        node = self.region.nodes[at]
        match node:
            case Load():
                return f"{target} = {self._loaded(at, node)};"
            case Index(dim=dim):
                return f"{target} = {self.element(dim)};"
            case Apply(op="div", args=(dividend, divisor)) if divisor in self.divisors:
                value = cast(self.name(dividend), ctype_of(self.region, dividend), ctype_of(self.region, at))
                return f"{target} = kw_divided({value}, d{divisor});"
            case Apply():
                return f"{target} = {apply_text(self.region, node, self.name)};"
        raise AssertionError(f"node {at} has no statement")

    def _loaded(self, at: int, node: Load) -> str:
        ctype = ctype_of(self.region, at)
        width = self.width(node.access)
        if width:
            lane = "e" if width == self.vector and width > 1 else "0"
            return cast(f"{self.held.get(at, f'x{at}[u]')}.v[{lane}]", STORED[node.dtype], ctype)
        hint = self.pointers.load_hint(node.access, self.reads_again)
        place = f"{self.pointers.name(node.access.buffer)} + ({self.sizes.offset(node.access, self.element)})"
        text = cast(f"kw_load<{hint}, {STORED[node.dtype]}, 1>({place}).v[0]", STORED[node.dtype], ctype)
        inside = self.inside(1) if self.length else None
        guard = (
            " && ".join(part for part in (inside, self.ok) if part) if self.lanewise else inside or self.ok
        )
        return f"{guard} ? {text} : {ctype}(0)" if guard else text

    def body(self, targets: list[int], ends: list[str]) -> list[str]:
        """For each element of a step: compute what `targets` need, then the statements `ends`."""
        nodes = closure(self.region, targets, self.known)
        lines = [
            self.statement(at, f"const {ctype_of(self.region, at)} n{at}")
            for at in nodes
            if not is_plain(self.region, at)
        ]
        if self.split:
            lines[:0] = used(self.sizes.decompose(self.walk.dims, f"({self.flat} + e)", "j"), [*lines, *ends])
        return [f"#pragma unroll\nfor (int e = 0; e < {self.vector}; ++e) {{", *lines, *ends, "}"]

    def over_steps(self, inside: list[str]) -> list[str]:
        """`inside` for every group of steps."""
        inside = [*used(self.prelude, inside), *inside]
        pragma = "#pragma unroll" if self.full_unroll else "#pragma unroll 1"
        if self.steps == self.unroll:
            return ["{", *used(["const int i = 0;"], inside), *inside, "}"]
        if self.backward:
            head = f"for (int i = {self.steps} - {self.unroll}; i >= 0; i -= {self.unroll}) {{"
        else:
            head = f"for (int i = 0; i < {self.steps}; i += {self.unroll}) {{"
        return [f"{pragma}\n{head}", *inside, "}"]

    def fold(self, folds: list[Fold], part: str, before: Iterable[str] = ()) -> list[str]:
        """Fold all steps into the states of the variable `part` (an array of V if lanewise).

        The statements `before` open every group.
        """
        targets = [fold.arg for fold in folds]
        nodes = closure(self.region, targets, self.known)
        count = self.vector * self.unroll
        chunk = self.unroll if self.lanewise else count
        place = f"e * {self.unroll} + u" if self.lanewise else f"u * {self.vector} + e"
        lines = [*self._load_lines(nodes), *before]
        lines += [f"{self._state_type(fold)} t{fold.field}[{count}];" for fold in folds]
        ends = [f"t{fold.field}[{place}] = {self._cast_arg(fold)};" for fold in folds]
        lines += self.each_step(self.body(targets, ends))
        return self.over_steps([*lines, *self._adds(folds, part, chunk)])

    def _adds(self, folds: list[Fold], part: str, chunk: int) -> list[str]:
        each = f"#pragma unroll\nfor (int e = 0; e < {self.vector}; ++e) "
        whole, single, lone = [], [], []
        for fold in folds:
            if self.lanewise:
                whole.append(f"{each}{part}[e].{fold.field}.add<{chunk}>(t{fold.field} + e * {chunk});")
                single.append(f"{each}{part}[e].{fold.field}.add<1>(t{fold.field} + e * {chunk} + u);")
            else:
                whole.append(f"{part}.{fold.field}.add<{chunk}>(t{fold.field});")
                single.append(f"{part}.{fold.field}.add<{self.vector}>(t{fold.field} + u * {self.vector});")
                lone.append(f"{part}.{fold.field}.add<1>(t{fold.field} + u * {self.vector} + e);")
        # Results outside are no one's: what is folded into them does not matter.
        edges = bool(self.length) and not self.lanewise
        if self.ok is None and not edges:
            return whole
        if edges:
            edge = [f"{each}if ({self.inside(1)}) {{", *lone, "}"]
            single = [f"if ({self.inside(self.vector)}) {{", *single, "} else {", *edge, "}"]
        partly = self.each_step([f"if ({self.ok}) {{", *single, "}"] if self.ok else single)
        return [f"if ({self.all_ok}) {{", *whole, "} else {", *partly, "}"]

    def _state_type(self, fold: Fold) -> str:
        return fold.state.partition("<")[2].rstrip(">")

    def _cast_arg(self, fold: Fold) -> str:
        return cast(self.name(fold.arg), ctype_of(self.region, fold.arg), self._state_type(fold))

    def store(self, numbers: list[int], live: str | None, behind: Iterable[str] = ()) -> list[str]:
        """Compute and write the stores `numbers` at all steps, where `live` holds.

        The statements `behind` close every group.
        """
        stores = [self.region.stores[number] for number in numbers]
        targets = [store.value for store in stores]
        nodes = closure(self.region, targets, self.known)
        guard = " && ".join(part for part in (self.ok, live) if part)
        before, ends, after = [], [], []
        for number, store in zip(numbers, stores, strict=True):
            stored = STORED[store.dtype]
            value = cast(self.name(store.value), ctype_of(self.region, store.value), stored)
            width = self.width(store.access)
            hint, pointer = self.pointers.store_hint, self.pointers.name(store.access.buffer)
            if width == self.vector:
                before.append(f"kw_vec<{stored}, {width}> y{number};")
                ends.append(f"y{number}.v[e] = {value};")
                write = f"<{hint}, {stored}, {width}>({self.address(store.access)}, y{number}"
                parts = self._parts(store.access)
                write = f"kw_store_part{write}, {self._place});" if parts else f"kw_store{write});"
                after.append(f"if ({guard}) {write}" if guard else write)
            else:
                place = self.sizes.offset(store.access, self.element)
                element = f"kw_vec<{stored}, 1>{{{{{value}}}}}"
                write = f"kw_store<{hint}, {stored}, 1>({pointer} + ({place}), {element});"
                one = " && ".join(part for part in (guard, self.length and self.inside(1)) if part)
                ends.append(f"if ({one}) {write}" if one else write)
        body = self.body(targets, ends)
        steps = self.each_step([*before, *body, *after])
        return self.over_steps([*self._load_lines(nodes), *steps, *behind])
