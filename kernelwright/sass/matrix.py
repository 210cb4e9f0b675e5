"""Matrix instructions: the types of their operands and of their accumulators.

    HMMA HGMMA        float16, bfloat16 or tf32 into float32 or float16     HMMA.16816.F32.BF16
    QMMA QGMMA OMMA   8, 6 and 4 bits into float32 or float16               QGMMA.64x8x32.F32.E4M3.E4M3
    IMMA IGMMA        integers into int32                                   IMMA.16832.S8.U8
    BMMA BGMMA        bits into int32                                       BMMA.168256.AND.POPC
    DMMA              float64                                               DMMA.8x8x4
    UTCHMMA and kin   tensor memory (sm_100): the types stand in a descriptor that is made at run time

`HFMA2.MMA` is no matrix instruction: it is a fused multiply-add of two halves (`arithmetic`). One whose
result goes nowhere computes nothing: `HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0` is how ptxas closes a
group of products of any type. A matrix instruction that is not in the table has unknown types; that is said
and never taken for harmless.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.sass.listing import Instruction
from kernelwright.sass.types import type_of

_FLOATING = {"HMMA", "HGMMA", "QMMA", "QGMMA", "OMMA"}
_INTEGER = {"IMMA", "IGMMA", "UTCIMMA"}
_BITS = {"BMMA", "BGMMA"}


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """What a matrix instruction multiplies, and what it adds up in."""

    operands: tuple[str, ...]
    """One type where both operands share it; empty where the instruction does not tell."""
    accumulator: str | None
    """None where the instruction does not tell."""


def matrix_product(instruction: Instruction) -> MatrixProduct | None:
    """Types of a matrix instruction; None for any other, and for one that writes nothing."""
    base = instruction.base
    if not base.endswith("MMA") or instruction.operands[:1] == ("RZ",):
        return None
    if base == "DMMA":
        return MatrixProduct(("float64",), "float64")
    if base in _BITS:
        return MatrixProduct(("bit",), "int32")
    named = [found for found in map(type_of, instruction.modifiers) if found]
    if base in _INTEGER:
        return MatrixProduct(_once(named), "int32")
    return _floating(base, named) if base in _FLOATING else MatrixProduct((), None)


def _floating(base: str, named: list[str]) -> MatrixProduct:
    """F16 and F32 name the accumulator (sm_70: result and summand), other types the operands."""
    sums = [name for name in named if name in ("float32", "float16")]
    operands = _once([name for name in named if name not in ("float32", "float16")])
    if not operands and base in {"HMMA", "HGMMA"}:
        operands = ("float16",)
    accumulator = "float16" if "float16" in sums else "float32" if sums else None
    return MatrixProduct(operands, accumulator)


def _once(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
