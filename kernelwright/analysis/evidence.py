"""Evidence of a gate, whatever its shape, as figures, tables and one mismatch that a person can check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.core.verdict import GateResult

_MISMATCH = ("where", "actual", "expected", "eager")
_COUNTS = ("beyond_tolerance", "not_finite_wrongly")
"""Of values that are wrong by themselves; a gate that does not count them shows one that is."""
_MOST_ROWS, _MOST_TEXT = 60, 400


@dataclass(frozen=True)
class EvidenceTable:
    """A mapping of mappings: a row for each, a column for each figure."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int
    """Rows that are not shown."""


@dataclass(frozen=True)
class Evidence:
    """What a page shows of one gate."""

    figures: tuple[tuple[str, str], ...]
    tables: tuple[EvidenceTable, ...]
    mismatch: tuple[tuple[str, str], ...]
    """Where a value is wrong, what it is, what it should be; empty where no value is."""
    beyond: bool
    """Whether that value itself is wrong; else it is the worst of a whole that is too far off."""

    @property
    def brief(self) -> str:
        """The first figures in one line, for a gate that has nothing to say."""
        return ", ".join(f"{name} {value}" for name, value in self.figures[:3])


def evidence(gate: GateResult) -> Evidence:
    """Figures first, then tables. The place of a wrong value stands apart where the gate failed."""
    found = gate.evidence
    mismatch = [(name, _exact(found[name])) for name in _MISMATCH if name in found]
    apart = set(_MISMATCH) if mismatch and gate.status == "fail" else set()
    nested = {name: value for name, value in found.items() if _is_table(value)}
    return Evidence(
        figures=tuple(
            (words(name), text_of(value)) for name, value in found.items() if name not in {*nested, *apart}
        ),
        tables=tuple(_table(name, value) for name, value in nested.items()),
        mismatch=tuple(mismatch) if apart else (),
        beyond=any(found.get(count, 1) for count in _COUNTS),
    )


def flat(facts: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Facts within facts as lines of name and text."""
    lines: list[tuple[str, str]] = []
    for name, value in facts.items():
        if isinstance(value, Mapping):
            lines += flat(value, f"{prefix}{words(name)} ")
        else:
            lines.append((f"{prefix}{words(name)}", text_of(value)))
    return lines


def text_of(value: Any) -> str:
    """One value as a person writes it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        text = ", ".join(text_of(item) for item in value)
        return _short(
            f"[{text}]" if all(isinstance(item, int) for item in value) and value else text or "none"
        )
    if isinstance(value, Mapping):
        return _short(", ".join(f"{words(name)} {text_of(item)}" for name, item in value.items()) or "none")
    return _short(str(value))


def _exact(value: Any) -> str:
    """A value of a tensor with all its digits."""
    return repr(value) if isinstance(value, float) else text_of(value)


def words(name: Any) -> str:
    """A key as words."""
    return _short(str(name).replace("_", " "))


def _is_table(value: Any) -> bool:
    return (
        isinstance(value, Mapping) and bool(value) and all(isinstance(row, Mapping) for row in value.values())
    )


def _table(name: str, value: Mapping[str, Mapping[str, Any]]) -> EvidenceTable:
    columns = tuple(dict.fromkeys(column for row in value.values() for column in row))
    rows = [(words(key), *(text_of(row.get(column)) for column in columns)) for key, row in value.items()]
    return EvidenceTable(
        words(name), tuple(map(words, columns)), tuple(rows[:_MOST_ROWS]), max(0, len(rows) - _MOST_ROWS)
    )


def _short(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}…"
