"""Nouns as JSON documents: strict JSON that reads back as the same noun.

JSON has no infinities and no NaN; they are written as the strings `Infinity`, `-Infinity` and
`NaN`, which a number's field reads back as numbers. In fields of any type they stay strings.
"""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar

from kernelwright.core.errors import StoreError, boundary
from kernelwright.core.wire import Wire

W = TypeVar("W", bound=Wire)


def to_document(noun: Wire) -> dict[str, Any]:
    """The noun as JSON values, all numbers finite."""
    document = _finite(noun.model_dump(mode="json"))
    assert isinstance(document, dict)
    return document


def from_document(kind: type[W], document: Any, where: str) -> W:
    """The noun that a document holds; StoreError if it holds none that this version knows."""
    with boundary(StoreError, f"{where} does not hold a {kind.__name__.lower()} that this version reads"):
        return kind.model_validate(document)


def dumps(value: Any) -> str:
    """Strict JSON on one line, ASCII only."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
    return value
