"""`Code`: what the kernels of a cubin compute with, counted by instruction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from kernelwright.core.wire import Wire
from kernelwright.sass.arithmetic import arithmetic
from kernelwright.sass.listing import CodeSection, Instruction
from kernelwright.sass.matrix import matrix_product


class Use(Wire):
    """Instructions of one opcode that matter for precision."""

    instruction: str
    """The opcode with its modifiers."""
    kind: Literal["matrix", "sum", "product", "function", "conversion", "approximation", "unknown"]
    """`matrix`: a matrix instruction; `unknown`: one whose effect is not known here; the rest as in
    `sass.arithmetic`."""
    operands: tuple[str, ...] = ()
    """Of a matrix instruction: types that are multiplied; empty where the instruction does not tell."""
    result: str | None
    """Type of the accumulator, of the sum or of the result; None where the instruction does not tell."""
    count: int
    """How often it stands in the code, not how often it runs."""


class Section(Wire):
    """The code of one kernel, or of functions that kernels share."""

    name: str
    entry: bool
    """Whether it can be launched."""
    instructions: int
    """How many there are in all."""
    uses: tuple[Use, ...]


class Code(Wire):
    """All code of a cubin, by section.

    Which of it may run when one kernel is launched is not asked: device code can call what it has the address
    of, other kernels and return addresses included.
    """

    tool: str
    """The disassembler and its version."""
    sections: tuple[Section, ...]


def code_of(sections: Iterable[CodeSection], tool: str) -> Code:
    """Count what matters in each section."""
    return Code(tool=tool, sections=tuple(map(_section, sections)))


def _section(section: CodeSection) -> Section:
    counts = Counter(use for one in section.instructions if (use := _use(one)))
    return Section(
        name=section.name,
        entry=section.entry,
        instructions=len(section.instructions),
        uses=_sorted(counts),
    )


def _use(instruction: Instruction) -> Use | None:
    """This instruction alone, counted as 0 so that equal ones are equal; None if it does not matter."""
    product = matrix_product(instruction)
    if product is not None:
        return Use(
            instruction=instruction.opcode,
            kind="matrix",
            operands=product.operands,
            result=product.accumulator,
            count=0,
        )
    found = arithmetic(instruction)
    if found is None:
        return None
    result = None if found.kind == "unknown" else found.dtype
    return Use(instruction=instruction.opcode, kind=found.kind, result=result, count=0)


def _sorted(counts: Counter[Use]) -> tuple[Use, ...]:
    found = [use.model_copy(update={"count": count}) for use, count in counts.items()]
    return tuple(sorted(found, key=lambda use: (use.kind, use.instruction, use.result or "")))
