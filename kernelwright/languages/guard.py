"""What a candidate's sources and options may ask of a compiler.

A compiler opens files. A source that could name any file would read it into an error message or
into the kernel, so directives that open files must name an allowed header in plain text. The
check reads the text as it stands, comments and strings included: it may refuse an odd comment,
and it cannot be led past by one. Directives that only exist in assembly are looked for in the
assembly itself (`reads_files`), because macros can spell them in too many ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from kernelwright.core.kernel import Kernel
from kernelwright.languages.base import Refused

_SPLICE = re.compile(r"\\[ \t\f\v]*\r?\n")
_GAP = r"(?:[\s]|/\*(?:[^*]|\*(?!/))*\*/)*"
_DIRECTIVE = re.compile(rf"(?:#|%:|\?\?=){_GAP}(include_next|include|import|embed)\b{_GAP}([^\n]*)")
_TARGET = re.compile(r"""<([^>\n]+)>|"([^"\n]+)\"""")
_PROBES = re.compile(r"\b__has_(?:include_next|include|embed)\b")
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.\-]*)*")
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_ASSEMBLER = re.compile(r"\.(incbin|include|macro|irp|irpc|rept|altmacro)\b")


def check_path(path: str) -> None:
    """A source path is a plain relative name; `kw_` is ours. Raises `Refused`."""
    if not _PATH.fullmatch(path) or path.startswith("kw_"):
        raise Refused(f"source path {path!r}: use letters, digits, _ . - and /, and not kw_ in front")


def check_paths(kernel: Kernel) -> None:
    """Every source path is allowed, and is there once. Raises `Refused`."""
    seen: set[str] = set()
    for source in kernel.sources:
        check_path(source.path)
        if source.path in seen:
            raise Refused(f"source path '{source.path}' is taken; give each source its own name")
        seen.add(source.path)


@dataclass(frozen=True)
class Headers:
    """Header names that may be included; a name that ends in `/` stands for all below it."""

    names: frozenset[str]
    summary: str
    """For messages: what the names are, in a few words."""


def check_includes(path: str, text: str, headers: Headers, own: frozenset[str]) -> None:
    """Every directive that opens a file names one of `headers`, or of the kernel's `own` sources in quotes.

    Raises `Refused` with the position.
    """
    plain = _SPLICE.sub("", text)
    probe = _PROBES.search(plain)
    if probe:
        raise Refused(f"{path}: '{probe.group()}' is not allowed; include what the kernel needs")
    others = f", and in quotes {', '.join(sorted(own - {path}))}" if own - {path} else ""
    for directive in _DIRECTIVE.finditer(plain):
        word, rest = directive.group(1), directive.group(2)
        target = _TARGET.match(rest)
        place = f"{path}{_line(text, directive.group())}"
        if word != "include" or target is None:
            raise Refused(f"{place}: '#{word} {rest.strip()}' is not allowed; only #include <header> is")
        name, quoted = target.group(1) or target.group(2), target.group(2) is not None
        if not ((quoted and name in own) or _allowed(name, headers.names)):
            raise Refused(f"{place}: #include of '{name}' is not allowed; allowed: {headers.summary}{others}")


def check_options(options: Iterable[str], allowed: Iterable[str], note: str = "") -> None:
    """Each option matches a pattern of `allowed` as a whole. Raises `Refused`."""
    patterns = list(allowed)
    for option in options:
        if not any(re.fullmatch(pattern, option) for pattern in patterns):
            raise Refused(f"option {option!r} is not allowed; allowed: {', '.join(patterns)}{note}")


def reads_files(assembly: str) -> str | None:
    """A directive in the assembly that reads a file, or could spell one that does; None if there is none."""
    found = _ASSEMBLER.search(_QUOTED.sub('""', assembly))
    return found.group() if found else None


def _allowed(name: str, headers: frozenset[str]) -> bool:
    if ".." in PurePosixPath(name).parts or name.startswith("/"):
        return False
    return name in headers or any(name.startswith(folder) for folder in headers if folder.endswith("/"))


def _line(text: str, directive: str) -> str:
    """`:<line>` of a directive; empty where line splices hide it."""
    at = text.find(directive)
    return f":{text.count(chr(10), 0, at) + 1}" if at >= 0 else ""
