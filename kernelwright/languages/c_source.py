"""Find the `extern "C"` functions of a C++ or CUDA source, with their parameters.

A scanner, not a parser: it blanks comments and strings and reads parameter lists as written.
Functions behind macros or templates are not found; the compiler is what decides in the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKENS = re.compile(
    r'//[^\n]*|/\*.*?(?:\*/|\Z)|R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'',
    re.DOTALL,
)
_LINKAGE = re.compile(r'\bextern\s*"C"\s*')
_WORDS = {"if", "for", "while", "switch", "catch", "return", "else", "new", "case", "do"}
_HEAD = re.compile(
    r"\b([A-Za-z_][\w:]*)[\s*]+(?:__\w+__\s*\([^()]*\)\s*)*([A-Za-z_]\w*)\s*\(([^()]*)\)\s*(?:noexcept\s*)?\{"
)
_NAME = re.compile(r"([A-Za-z_]\w*)\s*(\[[^\]]*\]\s*)?$")


@dataclass(frozen=True, slots=True)
class CParameter:
    """A parameter: its type as written without the name, its name, and whether it is a pointer."""

    type: str
    name: str
    pointer: bool


@dataclass(frozen=True, slots=True)
class CFunction:
    """A function definition."""

    name: str
    returns: str
    line: int
    parameters: tuple[CParameter, ...]
    is_global: bool
    """Marked `__global__`."""


def blank(text: str) -> str:
    """The text with comments and literals overwritten by spaces; lines stay, and so does `"C"`."""
    return _TOKENS.sub(_blanked, text)


def functions(text: str) -> list[CFunction]:
    """The `extern "C"` functions defined in `text`, in order."""
    plain = blank(text)
    found: list[CFunction] = []
    for start, end in _regions(plain):
        for head in _HEAD.finditer(plain, start, end):
            returns, name, parameters = head.groups()
            if {returns, name} & _WORDS:
                continue
            before = plain[max(start, _statement_start(plain, head.start())) : head.start(2)]
            line = plain.count("\n", 0, head.start(2)) + 1
            found.append(CFunction(name, returns, line, _parameters(parameters), "__global__" in before))
    return found


def _blanked(match: re.Match[str]) -> str:
    token = match.group()
    if token == '"C"':
        return token
    return "".join(char if char == "\n" else " " for char in token)


def _regions(plain: str) -> list[tuple[int, int]]:
    """Where `extern "C"` holds: up to the opening brace of a function, or the whole of a block."""
    found: list[tuple[int, int]] = []
    for linkage in _LINKAGE.finditer(plain):
        start = linkage.end()
        if start < len(plain) and plain[start] == "{":
            found.append((start + 1, _closing(plain, start)))
        else:
            brace = plain.find("{", start)
            semicolon = plain.find(";", start)
            if brace >= 0 and not 0 <= semicolon < brace:
                found.append((start, brace + 1))
    return found


def _closing(plain: str, opening: int) -> int:
    depth = 0
    for brace in re.finditer(r"[{}]", plain[opening:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return opening + brace.start()
    return len(plain)


def _statement_start(plain: str, position: int) -> int:
    return 1 + max(plain.rfind(mark, 0, position) for mark in ";{}")


def _parameters(text: str) -> tuple[CParameter, ...]:
    if text.strip() in ("", "void"):
        return ()
    return tuple(_parameter(" ".join(part.split())) for part in text.split(","))


def _parameter(text: str) -> CParameter:
    found = _NAME.search(text)
    name = found.group(1) if found else ""
    kind = text[: found.start()].strip() if found else text
    return CParameter(kind, name, "*" in kind or bool(found and found.group(2)))
