"""Take `@triton.jit` functions out of a Python file by syntax, running nothing of it.

What stays: the jitted functions, `import triton` in its usual spellings, and constants written as
`NAME = tl.constexpr(literal)`. All else becomes empty lines, so that line numbers hold. Inside the
functions only names that stay are allowed, and attributes of Triton's modules are collected: the
worker lets only Triton's own device functions and types pass.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.languages.base import Refused

_BUILTINS = frozenset(
    {"range", "min", "max", "len", "int", "float", "bool", "abs", "isinstance", "True", "False"}
)
_MODULES = {"triton", "triton.language", "triton.language.extra", "triton.language.extra.cuda"}
_LITERALS = (int, float, bool, str)


@dataclass(frozen=True)
class JitFunction:
    """A jitted function's parameters, in order."""

    name: str
    line: int
    parameters: tuple[str, ...]
    constants: frozenset[str]
    """Parameters annotated `tl.constexpr`."""
    defaulted: frozenset[str]

    @property
    def runtime(self) -> tuple[str, ...]:
        """Parameters that are passed at launch."""
        return tuple(name for name in self.parameters if name not in self.constants)


@dataclass(frozen=True)
class Extracted:
    """The part of a file that is compiled."""

    text: str
    functions: dict[str, JitFunction]
    chains: tuple[str, ...]
    """Attributes of Triton's modules that the functions use, by full dotted name."""


def extract(path: str, text: str) -> Extracted:
    """The jitted functions of a file. Raises `Refused` with the line."""
    try:
        tree = ast.parse(text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
        raise Refused(f"{path}{line}: {getattr(error, 'msg', None) or error}") from error
    _one_a_line(path, tree)
    aliases = _aliases(tree)
    jitted = [node for node in tree.body if isinstance(node, ast.FunctionDef) and _is_jitted(node, aliases)]
    constants = [node for node in tree.body if _constant_name(node, aliases)]
    allowed = (
        {node.name for node in jitted}
        | {_constant_name(node, aliases) or "" for node in constants}
        | _BUILTINS
    )
    chains: set[str] = set()
    for function in jitted:
        chains |= _Checker(path, function, aliases, allowed).chains()
    kept = _kept(text, [*_imports(tree), *constants], jitted, aliases)
    return Extracted(
        kept, {node.name: _signature(path, node, aliases) for node in jitted}, tuple(sorted(chains))
    )


def _one_a_line(path: str, tree: ast.Module) -> None:
    """Statements must not share a line, because what stays is cut out by lines."""
    last = 0
    for node in tree.body:
        decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
        start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        if start <= last:
            raise Refused(f"{path}:{start}: two statements share a line; write one a line")
        last = node.end_lineno or start


def _imports(tree: ast.Module) -> list[ast.stmt]:
    return [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) and list(_bound(node)) != []
    ]


def _aliases(tree: ast.Module) -> dict[str, str]:
    """Local name to Triton module."""
    return {name: module for node in _imports(tree) for name, module in _bound(node)}


def _bound(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Names that an import of Triton's modules binds; none if it imports anything else as well."""
    found: list[tuple[str, str]] = []
    if isinstance(node, ast.Import):
        found = [
            (item.asname or item.name.split(".")[0], item.name if item.asname else "triton")
            for item in node.names
        ]
        wanted = {item.name for item in node.names}
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        wanted = {f"{node.module}.{item.name}" for item in node.names}
        found = [(item.asname or item.name, f"{node.module}.{item.name}") for item in node.names]
    else:
        return
    libdevice = {f"{module}.libdevice" for module in _MODULES if ".extra" in module}
    if wanted <= _MODULES | libdevice | {"triton.jit"}:
        yield from found


def _is_jitted(node: ast.FunctionDef, aliases: dict[str, str]) -> bool:
    return any(_dotted(_undecorated(item), aliases) == "triton.jit" for item in node.decorator_list)


def _undecorated(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str | None:
    """Full name of an attribute chain that starts at a Triton module."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in aliases:
        return ".".join([aliases[node.id], *reversed(parts)])
    return None


def _constant_name(node: ast.stmt, aliases: dict[str, str]) -> str | None:
    """The name in `NAME = tl.constexpr(literal)`, the only kind of global that Triton reads."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=function, args=[value], keywords=[])
        ):
            if _dotted(function, aliases) == "triton.language.constexpr" and _is_literal(value):
                return name
    return None


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, _LITERALS))


def _signature(path: str, node: ast.FunctionDef, aliases: dict[str, str]) -> JitFunction:
    arguments = node.args
    if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
        raise Refused(f"{path}:{node.lineno}: {node.name}: only plain parameters are allowed")
    names = tuple(item.arg for item in arguments.args)
    constants = frozenset(
        item.arg
        for item in arguments.args
        if item.annotation and _dotted(item.annotation, aliases) == "triton.language.constexpr"
    )
    return JitFunction(
        node.name, node.lineno, names, constants, frozenset(names[len(names) - len(arguments.defaults) :])
    )


def _kept(
    text: str, statements: list[ast.stmt], jitted: list[ast.FunctionDef], aliases: dict[str, str]
) -> str:
    lines = text.splitlines()
    result = [""] * len(lines)
    for node in [*statements, *jitted]:
        end = node.end_lineno or node.lineno
        result[node.lineno - 1 : end] = lines[node.lineno - 1 : end]
    for node in jitted:
        mark = next(
            item for item in node.decorator_list if _dotted(_undecorated(item), aliases) == "triton.jit"
        )
        result[mark.lineno - 1] = f"@{ast.unparse(_undecorated(mark))}"
    return "\n".join(result) + "\n"


class _Checker(ast.NodeVisitor):
    """Refuses what a jitted function must not have, and collects the chains it uses."""

    def __init__(
        self, path: str, function: ast.FunctionDef, aliases: dict[str, str], allowed: set[str]
    ) -> None:
        self._path = path
        self._function = function
        self._aliases = aliases
        bound = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and not _loads(node)}
        self._names = allowed | bound | {item.arg for item in function.args.args}
        self._chains: set[str] = set()

    def chains(self) -> set[str]:
        """Check the whole function."""
        for default in self._function.args.defaults:
            if not _is_literal(default):
                self._refuse(default, "a default that is not a literal")
        for item in [*self._function.args.args, *self._function.body]:
            self.visit(item)
        return self._chains

    def visit_Name(self, node: ast.Name) -> None:
        if _loads(node) and node.id not in self._names:
            self._refuse(node, f"name '{node.id}', which is neither Triton's nor the kernel's own")
        if not _loads(node) and node.id in self._aliases:
            self._refuse(node, f"a new meaning for '{node.id}'")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain = _dotted(node, self._aliases)
        if chain:
            self._chains.add(chain)
            return
        if node.attr.startswith("_") or node.attr in ("handle", "builder"):
            self._refuse(node, f"attribute '{node.attr}'")
        self.visit(node.value)

    def generic_visit(self, node: ast.AST) -> None:
        nested = (
            ast.Import
            | ast.ImportFrom
            | ast.FunctionDef
            | ast.ClassDef
            | ast.Lambda
            | ast.Global
            | ast.Nonlocal
        )
        if isinstance(node, nested):
            self._refuse(node, f"{type(node).__name__} inside a jitted function")
        super().generic_visit(node)

    def _refuse(self, node: ast.AST, what: str) -> None:
        line = getattr(node, "lineno", self._function.lineno)
        raise Refused(
            f"{self._path}:{line}: {self._function.name} uses {what}; that is not allowed in a sealed kernel"
        )


def _loads(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)
