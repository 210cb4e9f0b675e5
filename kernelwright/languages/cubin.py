"""Read what the driver will see of a cubin: its kernels, their parameters, registers and stack.

A cubin is an ELF file; the facts stand in sections `.nv.info` (for all) and `.nv.info.<kernel>`.
The records are those that `cuobjdump -elf` prints: registers 0x2f, frame size 0x11, parameters
0x17. Only these are read; the rest is skipped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_REGISTERS, _FRAME, _PARAMETER = 0x2F, 0x11, 0x17
_SIZED = 4


@dataclass
class KernelFacts:
    """One kernel of a cubin."""

    parameters: dict[int, int] = field(default_factory=dict)
    """Size in bytes of each parameter, by position."""
    registers: int | None = None
    stack_bytes: int | None = None

    @property
    def sizes(self) -> list[int]:
        """Parameter sizes in order."""
        return [self.parameters[position] for position in sorted(self.parameters)]


def read_cubin(path: Path) -> dict[str, KernelFacts]:
    """Facts of each kernel by name. Raises ValueError for a file that is not a cubin."""
    data = path.read_bytes()
    try:
        return _kernels(data)
    except (struct.error, IndexError) as error:
        raise ValueError(f"{path} is not a readable cubin: {error}") from error


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    offset: int
    size: int
    link: int
    entry_size: int


def _kernels(data: bytes) -> dict[str, KernelFacts]:
    if data[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file")
    sections = _sections(data)
    by_name = {section.name: section for section in sections}
    prefix = ".nv.info."
    found = {name[len(prefix) :]: KernelFacts() for name in by_name if name.startswith(prefix)}
    for name, facts in found.items():
        for attribute, payload in _records(data, by_name[prefix + name]):
            if attribute == _PARAMETER:
                _, position, _, packed = struct.unpack("<IHHI", payload)
                facts.parameters[position] = packed >> 18
    if ".nv.info" in by_name:
        _totals(data, by_name[".nv.info"], _symbols(data, sections), found)
    return found


def _totals(data: bytes, section: _Section, symbols: list[str], found: dict[str, KernelFacts]) -> None:
    for attribute, payload in _records(data, section):
        if attribute not in (_REGISTERS, _FRAME):
            continue
        symbol, value = struct.unpack("<II", payload)
        facts = found.get(symbols[symbol])
        if facts and attribute == _REGISTERS:
            facts.registers = value
        elif facts:
            facts.stack_bytes = value


def _sections(data: bytes) -> list[_Section]:
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + index * size) for index in range(count)]
    base = headers[names][4]
    return [_Section(_text(data, base + h[0]), h[4], h[5], h[6], h[9]) for h in headers]


def _symbols(data: bytes, sections: list[_Section]) -> list[str]:
    table = next(section for section in sections if section.name == ".symtab")
    strings = sections[table.link].offset
    starts = range(table.offset, table.offset + table.size, table.entry_size)
    return [_text(data, strings + struct.unpack_from("<I", data, start)[0]) for start in starts]


def _records(data: bytes, section: _Section) -> Iterator[tuple[int, bytes]]:
    at, end = section.offset, section.offset + section.size
    while at < end:
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == _SIZED:
            yield attribute, data[at : at + size]
            at += size


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode("utf-8", "replace")
