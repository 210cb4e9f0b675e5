"""The integer constants at a file's top level, and the same file with other values for them.

    batch = 64            -> batch
    rows, cols = 32, 128  -> rows, cols
    shape = (3, 224)      -> shape_0, shape_1
    size: int = 4 * 1024  -> size

Values computed from other names (`hidden = 4 * features`) are not constants: they follow.
"""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable, Iterator, Mapping

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
}
_MAX_POWER = 64


def constants(tree: ast.Module) -> dict[str, int]:
    """Name to value, in the order of the file; the last assignment of a name counts."""
    return {name: value for name, _, value in _places(tree)}


def with_constants(tree: ast.Module, changed: Mapping[str, int]) -> ast.Module:
    """A copy of the tree in which the constants named in `changed` have other values."""
    altered = copy.deepcopy(tree)
    values = {id(node): changed[name] for name, node, _ in _places(altered) if name in changed}
    _Replace(values).visit(altered)
    return ast.fix_missing_locations(altered)


class _Replace(ast.NodeTransformer):
    """Puts an integer literal in the place of certain nodes."""

    def __init__(self, values: Mapping[int, int]) -> None:
        self.values = values

    def visit(self, node: ast.AST) -> ast.AST:
        if id(node) in self.values:
            return ast.copy_location(ast.Constant(value=self.values[id(node)]), node)
        visited: ast.AST = self.generic_visit(node)
        return visited


def _places(tree: ast.Module) -> Iterator[tuple[str, ast.expr, int]]:
    """(name, expression, value) of each constant."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield from _named(name, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield from _named(name, value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, values, strict=False):
                    if isinstance(target, ast.Name):
                        yield from _named(target.id, value)


def _named(name: str, value: ast.expr) -> Iterator[tuple[str, ast.expr, int]]:
    if isinstance(value, ast.Tuple | ast.List):
        for i, item in enumerate(value.elts):
            yield from _named(f"{name}_{i}", item)
        return
    number = _integer(value)
    if number is not None:
        yield name, value, number


def _integer(node: ast.expr) -> int | None:
    """Value of an expression of integer literals, else None."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, power = _integer(left), _integer(right)
            fits = base is not None and power is not None and 0 <= power <= _MAX_POWER
            return int(base**power) if fits and base is not None and power is not None else None
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _integer(left), _integer(right)
            if a is None or b is None or not _allowed(op, b):
                return None
            return _OPERATORS[type(op)](a, b)
    return None


def _allowed(op: ast.operator, right: int) -> bool:
    if isinstance(op, ast.FloorDiv):
        return right != 0
    return not isinstance(op, ast.LShift) or 0 <= right <= _MAX_POWER
