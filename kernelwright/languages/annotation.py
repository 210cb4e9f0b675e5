"""What a kernel file says about itself in comments: `// kernelwright: {...}` or `# kernelwright: {...}`.

The text behind the mark is one JSON object; it may go on over the following comment lines. A file
may have several: those with launch numbers belong to the entry that they name, or to the only one.

    // kernelwright: {"grid": ["ceildiv(rows, 4)", 1, 1], "block": [128, 1, 1], "domain": "cols <= 4096"}
    // kernelwright: {"entry": "finish", "grid": [1, 1, 1], "block": [256, 1, 1]}
    // kernelwright: {"scratch": [{"name": "partial", "dtype": "float32", "shape": ["rows"]}]}
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import Field, ValidationError

from kernelwright.core.dtypes import Dtype
from kernelwright.core.errors import UsageError
from kernelwright.core.expr import Expr
from kernelwright.core.plan import Plan
from kernelwright.core.wire import Wire

_MARK = re.compile(r"^[ \t]*(//|#)[ \t]*kernelwright:[ \t]*", re.MULTILINE)


class Scratch(Wire):
    """A buffer that lives within one call."""

    name: str
    dtype: Dtype
    shape: tuple[Expr, ...]


class Annotation(Wire):
    """One comment's object."""

    entry: str | None = None
    """The function that the launch numbers are for; may be left out where there is one function."""
    grid: tuple[Expr, ...] = Field(default=(), max_length=3)
    block: tuple[Expr, ...] = Field(default=(), max_length=3)
    shared_bytes: Expr = 0
    cluster: tuple[Expr, ...] = Field(default=(), max_length=3)
    cooperative: bool = False
    programmatic: bool = False
    domain: str = ""
    options: tuple[str, ...] = ()
    scratch: tuple[Scratch, ...] = ()
    int32: tuple[str, ...] = ()
    """Triton: integer parameters to pass as int32; the others are int64."""
    plan: Plan | None = None
    """A whole plan, instead of one made from the functions' parameters."""


class Annotations:
    """All comments of a file, by what they are about."""

    def __init__(self, found: list[Annotation]) -> None:
        self.all = found
        self.domain = next((item.domain for item in found if item.domain), "")
        self.options = tuple(option for item in found for option in item.options)
        self.scratch = tuple(buffer for item in found for buffer in item.scratch)
        self.int32 = frozenset(name for item in found for name in item.int32)
        self.plan = next((item.plan for item in found if item.plan), None)

    @property
    def entries(self) -> list[str]:
        """Entries named, in order; empty if none is."""
        return [item.entry for item in self.all if item.entry]

    def launch(self, entry: str, alone: bool) -> Annotation | None:
        """The object with this entry's launch numbers; `alone` if the file has no other entry."""
        named = next((item for item in self.all if item.entry == entry), None)
        unnamed = next((item for item in self.all if item.entry is None and item.grid), None)
        return named or (unnamed if alone else None)


def read_annotations(path: str, text: str) -> Annotations:
    """The objects in `text`, in order. UsageError, one line, for what does not parse or is unknown."""
    return Annotations([_one(path, text, mark) for mark in _MARK.finditer(text)])


def _one(path: str, text: str, mark: re.Match[str]) -> Annotation:
    line = text.count("\n", 0, mark.start()) + 1
    try:
        value, _ = json.JSONDecoder().raw_decode(_comment(text[mark.end() :], mark.group(1)))
        return Annotation.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "object"
        allowed = ", ".join(Annotation.model_fields)
        raise UsageError(
            f"{path}:{line}: kernelwright comment: '{where}': {first['msg']}; allowed keys: {allowed}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path}:{line}: kernelwright comment is not JSON: {error}; write one object in braces"
        ) from error


def _comment(text: str, prefix: str) -> str:
    """The rest of this line and the comment lines right below, without their prefix."""
    first, *rest = text.split("\n")
    lines = [first]
    for line in rest:
        stripped = line.strip()
        if not stripped.startswith(prefix):
            break
        lines.append(stripped[len(prefix) :])
    return "\n".join(lines)


def three(sizes: tuple[Expr, ...]) -> tuple[Any, Any, Any]:
    """Sizes filled up with ones."""
    filled = (*sizes, 1, 1, 1)
    return filled[0], filled[1], filled[2]
