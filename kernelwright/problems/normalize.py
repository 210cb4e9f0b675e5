"""The text that a problem's hash covers: its syntax, without comments, docstrings and layout.

The syntax tree is written out by our own rules. `ast.unparse` and `ast.dump` differ between Python
versions; this text does not, as long as the tree's fields that older versions know are the same.
Renaming a variable or reordering definitions does change it.
"""

from __future__ import annotations

import ast
from typing import Any

_LEFT_OUT = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def normalize(text: str) -> str:
    """Normalized form of a Python source; SyntaxError if it does not parse."""
    return _written(ast.parse(text))


def _written(value: Any) -> str:
    if isinstance(value, ast.AST):
        return f"({_head(value)})"
    if isinstance(value, list):
        return "[" + " ".join(_written(item) for item in value) + "]"
    return ascii(value)


def _head(node: ast.AST) -> str:
    """`Type field=value ...`; empty fields are left out, because versions differ in which exist."""
    fields = []
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, _DOCUMENTED):
            value = _undocumented(value)
        if name == "values" and isinstance(node, ast.JoinedStr):
            value = [part for part in value if not _is_empty(part)]
        constant = isinstance(node, ast.Constant) and name == "value"
        if name not in _LEFT_OUT and (constant or (value is not None and value != [])):
            fields.append(f"{name}={_written(value)}")
    return " ".join([type(node).__name__, *fields])


def _undocumented(body: list[ast.stmt]) -> list[ast.stmt]:
    """A body without its docstring, and without other strings that stand alone."""
    return [statement for statement in body if not _is_text(statement)]


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _is_empty(part: ast.expr) -> bool:
    """Python 3.12 puts empty strings around the fields of a format specification."""
    return isinstance(part, ast.Constant) and part.value == ""
