"""Scalar arithmetic below float32, conversions that narrow, and hardware approximations.

    sum             HADD2, HFMA2, and atomics that add in memory     HFMA2.BF16_V2  REDG.E.ADD.F16x2
    product         HMUL2, HFMA2 that adds nothing
    function        MUFU on halves                                   MUFU.TANH.F16
    conversion      to a type with fewer bits                        F2FP.BF16.F32.PACK_AB  I2F.F16
    approximation   MUFU on float32                                  MUFU.EX2  MUFU.RSQ

Compilers use half instructions for other ends, which change no value: `HFMA2 R7, -RZ, RZ, 1.875, 0` loads
a constant, `HADD2.F32 R0, -RZ, R2.H0_H0` widens, `HADD2 R3, |R2|, -RZ` takes an absolute value. Those with
a zero for a summand, or for a factor beside a summand, are none of the above; nor are comparisons, minimum
and maximum.

Not covered: rounding by integer instructions (a mask on the bits of a float32), seen in results only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kernelwright.sass.listing import Instruction
from kernelwright.sass.types import SIGNIFICANT_BITS, type_of

Kind = Literal["sum", "product", "function", "conversion", "approximation", "unknown"]

_SOURCES = {"HADD2": 2, "HMUL2": 2, "HFMA2": 3}
_EXACT = {"HMNMX2", "HSET2", "HSETP2"}
_CONVERSIONS = {"F2F", "F2FP", "I2F", "I2FP", "F2FX"}
_ZERO = re.compile(r"[-+|~]*U?RZ\|?(?:\.[A-Za-z_]\w*)*|[-+]?0(?:\.0*)?")
_IMMEDIATE = re.compile(r"[-+]?(?:\d|INF|QNAN|SNAN).*")


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """What an instruction does, and the type of its result."""

    kind: Kind
    dtype: str
    """`unknown` where the instruction does not tell, or is not in the table."""


def arithmetic(instruction: Instruction) -> Arithmetic | None:
    """What the instruction does below float32, or approximately; None for everything else."""
    base = instruction.base.removesuffix("_32I")
    if base in _SOURCES:
        return _packed(base, instruction)
    if base in _CONVERSIONS:
        return _conversion(base, instruction)
    half = _half(instruction.modifiers)
    if base == "MUFU":
        return Arithmetic("function", half) if half else Arithmetic("approximation", "float32")
    if half and "ADD" in instruction.modifiers:
        return Arithmetic("sum", half)
    unread = _is_odd(base) or _adds_by_tensor_map(instruction)
    return Arithmetic("unknown", "unknown") if unread else None


def _packed(base: str, instruction: Instruction) -> Arithmetic | None:
    if "F32" in instruction.modifiers:
        return None
    dtype = _half(instruction.modifiers) or "float16"
    sources = _sources(instruction.operands)
    if len(sources) != _SOURCES[base]:
        return Arithmetic("sum", dtype)
    if base == "HFMA2":
        first, second, added = map(_is_zero, sources)
        return None if first or second else Arithmetic("product" if added else "sum", dtype)
    if any(map(_is_zero, sources)):
        return None
    return Arithmetic("sum" if base == "HADD2" else "product", dtype)


def _sources(operands: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Operands behind the destination; two immediates in a row are the halves of one."""
    found: list[tuple[str, ...]] = []
    for operand in operands[1:]:
        if found and len(found[-1]) == 1 and _is_immediate(found[-1][0]) and _is_immediate(operand):
            found[-1] = (found[-1][0], operand)
        else:
            found.append((operand,))
    return found


def _is_immediate(operand: str) -> bool:
    return _IMMEDIATE.fullmatch(operand) is not None


def _is_zero(source: tuple[str, ...]) -> bool:
    return all(_ZERO.fullmatch(part) for part in source)


def _conversion(base: str, instruction: Instruction) -> Arithmetic | None:
    """A conversion whose result has fewer bits than its operand."""
    named = [found for found in map(type_of, instruction.modifiers) if found]
    # sm_80 writes `F2FP.PACK_AB` for float32 to float16.
    result = named[0] if named else ("float16" if base == "F2FP" else "float32")
    operand = named[1] if len(named) > 1 else "float32"
    bits = SIGNIFICANT_BITS.get(result)
    if bits is None or bits >= SIGNIFICANT_BITS.get(operand, 24):
        return None
    return Arithmetic("conversion", result)


def _half(modifiers: tuple[str, ...]) -> str | None:
    return next((found for found in map(type_of, modifiers) if found in ("float16", "bfloat16")), None)


def _is_odd(base: str) -> bool:
    """A half instruction that is not in the table; matrix instructions are another table's."""
    return base.startswith("H") and base not in _EXACT and not base.endswith("MMA")


def _adds_by_tensor_map(instruction: Instruction) -> bool:
    """An addition in memory whose type stands in a tensor map."""
    return instruction.base == "UTMAREDG" and "ADD" in instruction.modifiers
