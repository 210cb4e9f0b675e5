"""A disassembler's listing becomes instructions by code section.

A linked cubin has one `.text` section for each kernel; device functions that were not inlined are copied
into the section of each kernel that may call them, by name or through a pointer.

Every line of code must be understood: one that is not, or an address that is missing, raises `Unreadable`,
because what was skipped could be what is looked for. Not covered: architectures before sm_70, whose
instructions are not 16 bytes long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

INSTRUCTION_BYTES = 16

_SECTION = re.compile(r"\s*\.section\s+(\S+?),")
_ENTRY = re.compile(r"\s*\.other\s+(\S+?)\s*,.*\bSTO_CUDA_ENTRY\b")
_ADDRESS = re.compile(r"\s*/\*([0-9a-f]{4,})\*/(.*)")
_CODE = re.compile(r"\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.\w+)*)(?:\s+(\S.*?))?\s*;\s*")
_TEXT = ".text."


class Unreadable(Exception):
    """Machine code could not be read: one line that says why."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, without its guard."""

    opcode: str
    """With its modifiers, such as `HMMA.16816.F32.BF16`."""
    operands: tuple[str, ...] = ()
    """As printed; the destination comes first where there is one."""

    @property
    def base(self) -> str:
        """The opcode alone."""
        return self.opcode.partition(".")[0]

    @property
    def modifiers(self) -> tuple[str, ...]:
        """In the order in which they are printed."""
        return tuple(self.opcode.split(".")[1:])


@dataclass
class CodeSection:
    """The code of a kernel, or of functions that kernels share."""

    name: str
    """The kernel's name."""
    entry: bool = False
    """Whether it is a kernel, which can be launched."""
    instructions: list[Instruction] = field(default_factory=list)


def parse_listing(text: str) -> list[CodeSection]:
    """Every code section of what `nvdisasm -c` prints, in order. Raises `Unreadable`."""
    sections: list[CodeSection] = []
    current: CodeSection | None = None
    for line in text.splitlines():
        opened = _SECTION.match(line)
        if opened:
            name = opened[1].strip('"')
            current = CodeSection(name[len(_TEXT) :]) if name.startswith(_TEXT) else None
            sections += [current] if current else []
        elif current is not None:
            _add(line, current)
    empty = next((section.name for section in sections if not section.instructions), None)
    if not sections or empty is not None:
        what = f"the code of '{empty}' is" if empty else "there is"
        raise Unreadable(
            f"the disassembler's listing is not complete: {what} {'empty' if empty else 'no code'}"
        )
    return sections


def _add(line: str, section: CodeSection) -> None:
    entry, placed = _ENTRY.match(line), _ADDRESS.match(line)
    if entry and entry[1].strip('"') == section.name:
        section.entry = True
    if placed is None:
        return
    code = _CODE.fullmatch(placed[2])
    if code is None:
        raise Unreadable(f"a line of the disassembler's listing is not understood: {line.strip()[:120]!r}")
    expected = len(section.instructions) * INSTRUCTION_BYTES
    if int(placed[1], 16) != expected:
        raise Unreadable(f"the listing of '{section.name}' has no instruction at 0x{expected:x}")
    section.instructions.append(Instruction(code[1], tuple(_split(code[2] or ""))))


def _split(text: str) -> Iterator[str]:
    """Operands, at commas outside of brackets."""
    start = depth = 0
    for position, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            yield text[start:position].strip()
            start = position + 1
    if text[start:].strip():
        yield text[start:].strip()
