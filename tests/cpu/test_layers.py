"""A package imports only from rows above its own, never from a peer. There is no exceptions file."""

from __future__ import annotations

import ast
from pathlib import Path

import kernelwright

ROOT = Path(kernelwright.__file__).parent

ROWS: list[set[str]] = [
    {"core"},
    {"store", "sandbox", "graph", "ptx", "sass", "llm"},
    {"problems", "languages", "simulate"},
    {"execute"},
    {"measure", "knowledge"},
    {"verify", "propose"},
    {"evaluate"},
    {"search"},
    {"optimize", "load", "service"},
    {"integrate", "suites", "analysis"},
    {"train"},
    {"workloads"},
    {"cli", "studio", "mcp"},
]
ROW = {name: number for number, row in enumerate(ROWS) for name in row}


def unit(path: Path) -> str:
    """The package or top-level module that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imported(tree: ast.AST) -> set[str]:
    """Kernelwright units that a file imports, at top level or inside functions."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if is_type_checking(node):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        found |= {"kernelwright." + name for name in imported(node)}
    units = {name.split(".")[1] for name in found if name.startswith("kernelwright.")}
    return {name for name in units if name in ROW or (ROOT / name).exists()}


def violations() -> list[str]:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        own = unit(path)
        if own in {"__init__", "__main__"}:
            continue
        if own not in ROW:
            found.append(f"{own} has no row")
            continue
        for other in imported(ast.parse(path.read_text())) - {own}:
            if ROW.get(other, len(ROWS)) >= ROW[own]:
                found.append(f"{path.relative_to(ROOT)} imports {other}")
    return found


def test_imports_point_down_only() -> None:
    assert violations() == []


def test_the_check_sees_lazy_imports_and_skips_type_checking() -> None:
    lazy = "def f():\n    from kernelwright.core.wire import Wire\n"
    code = lazy + "if TYPE_CHECKING:\n    import kernelwright.cli"
    assert imported(ast.parse(code)) == {"core"}
