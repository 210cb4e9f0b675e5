"""What crosses a process, a disk or a wire: frozen pydantic models and their content hash.

A field's documentation is the string under it. Unknown keys are refused, so that a
misspelt field is an error and never a silent default.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """Base of every noun that is stored or sent."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def canonical_json(value: Any) -> str:
    """JSON text that is the same for equal values: sorted keys, no spaces."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def content_hash(value: Any) -> str:
    """SHA-256 of the canonical JSON of `value`, first 128 bits, as 32 hex digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:32]
