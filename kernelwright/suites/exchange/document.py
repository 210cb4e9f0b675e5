"""`Document`: a JSON object of another project, as it came, and the fields of it that we read.

The content is kept whole and is what is written back, so a field that we do not know, its place in the
order and the way a number was written survive. What JSON text can say and a program would lose without
a word (a key that stands twice, a number beyond float64) is refused.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError

from kernelwright.core.errors import UsageError
from kernelwright.core.file import read_file

DocumentT = TypeVar("DocumentT", bound="Document")
MOST_BYTES = 64 << 20
"""A larger file is refused: definitions and solutions are texts that people read."""
FIELDS = "the fields of the format stand in docs/design/exchange-formats.md"


class Part(BaseModel):
    """A part of a document: typed fields that we use. Others are left to the document's content."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", use_attribute_docstrings=True)


class Document(Part):
    """A JSON object of another project. Make one with `of` or `parsed`."""

    _content: dict[str, Any] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls: type[DocumentT], content: Any, where: str) -> DocumentT:
        """The document with this content; UsageError, one line that begins with `where`, if it is none."""
        if not isinstance(content, dict):
            raise UsageError(f"{where}: a {cls.__name__.lower()} is a JSON object; this is {_kind(content)}")
        try:
            made = cls.model_validate_json(json.dumps(content))
        except ValidationError as error:
            raise UsageError(f"{where}: not a {cls.__name__.lower()}: {_first(error)}; {FIELDS}") from error
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{where}: not a {cls.__name__.lower()}: {error}; {FIELDS}") from error
        made._content.update(content)
        return made

    @classmethod
    def parsed(cls: type[DocumentT], text: str, where: str) -> DocumentT:
        """The document in a JSON text; UsageError, one line, if it is none."""
        return cls.of(parse(text, where), where)

    @property
    def content(self) -> dict[str, Any]:
        """The JSON object as it came."""
        return self._content

    def text(self, *, indent: int | None = None) -> str:
        """JSON text that reads back to the same content."""
        return json.dumps(self._content, indent=indent)


def parse(text: str, where: str) -> Any:
    """The value of a JSON text; UsageError, one line that begins with `where`, for what cannot be kept."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_float=_float)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{where}: not JSON: {error.msg} (line {error.lineno}); give the file as its project wrote it"
        ) from error
    except RecursionError as error:
        raise UsageError(f"{where}: nested too deep; give the file as its project wrote it") from error
    except ValueError as error:
        raise UsageError(f"{where}: {error}; give the file as its project wrote it") from error


def read_text(path: Path, what: str) -> str:
    """The text of a file; UsageError, one line, if it cannot be read. `what` is what it should hold."""
    try:
        return read_file(path, MOST_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{what} '{path}' is not UTF-8 text (byte {error.start})") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {what} '{path}': {reason}; give the path of a file") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} stands twice in one object, and only one of them could be kept")
    return made


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        _beyond(text)
    return value


def _beyond(text: str) -> NoReturn:
    raise ValueError(f"number {text[:40]} is beyond float64, and would not be written back")


def _first(error: ValidationError) -> str:
    """The first thing that does not fit: where, what was given, what is allowed."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    said = first["msg"].removeprefix("Value error, ")
    if first["type"] in ("missing", "value_error"):
        return f"'{where}': {said}" if where else said
    return f"'{where}' is {_kind(first['input'])}: {said}"


def _kind(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
