"""Text of a constructor argument that is the same in every process and torch version."""

from __future__ import annotations

from typing import Any


def literal_text(value: Any) -> str:
    """Python literals as `repr` writes them; other objects by type, tensors with dtype and shape."""
    if value is None or isinstance(value, bool | int | float | str | bytes | complex):
        return repr(value)
    if isinstance(value, list | tuple):
        inner = ", ".join(literal_text(item) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal_text(k)}: {literal_text(v)}" for k, v in value.items()) + "}"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"tensor({value.dtype}, {tuple(int(size) for size in value.shape)})"
    if isinstance(value, type) or callable(value):
        return str(getattr(value, "__qualname__", type(value).__qualname__))
    return str(type(value).__qualname__)
