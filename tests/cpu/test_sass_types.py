"""Opcodes of sm_80 to sm_120, as the disassembler prints them, and the types in which they compute."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.sass.arithmetic import Arithmetic, arithmetic
from kernelwright.sass.listing import Instruction
from kernelwright.sass.matrix import MatrixProduct, matrix_product
from kernelwright.sass.types import SIGNIFICANT_BITS, coarsest


def instruction(text: str) -> Instruction:
    opcode, _, operands = text.partition(" ")
    return Instruction(opcode, tuple(part.strip() for part in operands.split(",") if part.strip()))


@pytest.mark.parametrize(
    ("opcode", "operands", "accumulator"),
    [
        ("HMMA.884.F16.F16.STEP0", ["float16"], "float16"),
        ("HMMA.884.F32.F32.STEP2", ["float16"], "float32"),
        ("HMMA.884.F32.F16.STEP2", ["float16"], "float16"),
        ("HMMA.1688.F32", ["float16"], "float32"),
        ("HMMA.16816.F16", ["float16"], "float16"),
        ("HMMA.16816.F32.BF16", ["bfloat16"], "float32"),
        ("HMMA.1684.F32.TF32", ["tf32"], "float32"),
        ("HMMA.SP.16832.F32", ["float16"], "float32"),
        ("HGMMA.64x256x16.F16", ["float16"], "float16"),
        ("HGMMA.64x64x8.F32.TF32", ["tf32"], "float32"),
        ("HGMMA.SP.64x8x32.F32.BF16", ["bfloat16"], "float32"),
        ("QGMMA.64x8x32.F32.E5M2.E4M3", ["float8_e5m2", "float8_e4m3"], "float32"),
        ("QGMMA.64x8x32.F16.E4M3.E4M3", ["float8_e4m3"], "float16"),
        ("QMMA.16832.F16.E4M3.E4M3", ["float8_e4m3"], "float16"),
        ("OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X", ["float4_e2m1"], "float32"),
        ("IMMA.16832.S8.U8", ["int8", "uint8"], "int32"),
        ("IMMA.16864.S4.S4.SAT", ["int4"], "int32"),
        ("IGMMA.64x8x32.S8.S8", ["int8"], "int32"),
        ("BMMA.168256.AND.POPC", ["bit"], "int32"),
        ("DMMA.8x8x4", ["float64"], "float64"),
        ("UTCHMMA.2CTA", [], None),
        ("UTCQMMA", [], None),
        ("XMMA.16816.F32", [], None),
    ],
)
def test_matrix_instructions(opcode: str, operands: list[str], accumulator: str | None) -> None:
    assert matrix_product(Instruction(opcode)) == MatrixProduct(tuple(operands), accumulator)


def test_an_empty_group_of_products_is_not_one_in_half_precision() -> None:
    assert matrix_product(instruction("HGMMA.64x8x16.F16 RZ, gdesc[URZ], RZ, !UPT, gsb0")) is None
    assert matrix_product(instruction("HGMMA.64x8x16.F16 R24, gdesc[UR8], RZ, !UPT, gsb0")) is not None


@pytest.mark.parametrize("opcode", ["HFMA2.MMA", "HFMA2.MMA.BF16_V2", "FFMA", "LDSM.16.M88.4", "IMAD.WIDE"])
def test_what_only_sounds_like_one(opcode: str) -> None:
    assert matrix_product(Instruction(opcode)) is None


@pytest.mark.parametrize(
    ("text", "kind", "dtype"),
    [
        ("HADD2 R0, R0.H0_H0, R9.H0_H0", "sum", "float16"),
        ("HADD2 R5, R4, 1, 1", "sum", "float16"),
        ("HADD2_32I R5, R4, 1, 1", "sum", "float16"),
        ("HADD2.BF16_V2 R3, R2, 2, 2", "sum", "bfloat16"),
        ("HFMA2.MMA R14, R9, R14, R7", "sum", "float16"),
        ("HFMA2 R0, R10.H0_H0, -0.0009765625, -0.0009765625, R9.H0_H0", "sum", "float16"),
        ("HFMA2.BF16_V2 R3, R2, 1, 1, -R19", "sum", "bfloat16"),
        ("HFMA2.RELU R7, R16, R16, 0, 1", "sum", "float16"),
        ("HFMA2 R0, R1, c[0x0][0x210].H0_H0, R3", "sum", "float16"),
        ("HFMA2 R0, R1", "sum", "float16"),
        ("ATOM.E.ADD.F16x2.RN.STRONG.GPU P0, RZ, desc[UR4][R4.64], R9", "sum", "float16"),
        ("REDG.E.ADD.F16x8.RN.STRONG.GPU desc[UR8][R2.64], R4", "sum", "float16"),
        ("RED.E.ADD.BF16x2.RN.STRONG.GPU [R2.64], R4", "sum", "bfloat16"),
        ("UBLKRED.G.S.ADD.BF16.RN [UR6], [UR4], UR5", "sum", "bfloat16"),
        ("LDGMC.E.ADD.F16x2.RN.STRONG.SYS R5, [RZ.U32+UR6]", "sum", "float16"),
        ("HFMA2.MMA R14, R9, R14, RZ", "product", "float16"),
        ("HFMA2.BF16_V2 R14, R9, R14, -RZ.H0_H0", "product", "bfloat16"),
        ("HMUL2 R0, R0.H0_H0, R9.H0_H0", "product", "float16"),
        ("MUFU.TANH.F16 R9, R0", "function", "float16"),
        ("MUFU.EX2.BF16 R9, R0.H1", "function", "bfloat16"),
        ("MUFU.RSQ R9, R0", "approximation", "float32"),
        ("F2FP.F16.F32.PACK_AB R0, RZ, R0", "conversion", "float16"),
        ("F2FP.BF16.PACK_AB R0, RZ, R0", "conversion", "bfloat16"),
        ("F2FP.PACK_AB.RZ R0, RZ, R0", "conversion", "float16"),
        ("F2FP.SATFINITE.E4M3.F32.PACK_AB_MERGE_C R0, R0, R5, RZ", "conversion", "float8_e4m3"),
        ("F2F.F16.F64 R15, R4", "conversion", "float16"),
        ("F2F.F32.F64 R5, R4", "conversion", "float32"),
        ("I2F.F16 R13, R13", "conversion", "float16"),
        ("HWHATEVER2 R0, R1, R2", "unknown", "unknown"),
        ("UTMAREDG.2D.ADD [UR8], [UR4]", "unknown", "unknown"),
    ],
)
def test_narrow_arithmetic(text: str, kind: str, dtype: str) -> None:
    assert arithmetic(instruction(text)) == Arithmetic(kind, dtype)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "HFMA2.MMA R7, -RZ, RZ, 1.9375, 0",
        "HFMA2 R13, -RZ, RZ, 0, 5.9604644775390625e-08",
        "HFMA2.BF16_V2 R21, -RZ.H0_H0, RZ.H0_H0, -R20",
        "HADD2.F32 R9, -RZ, R8.H0_H0",
        "HADD2.F32 R9, R7.H0_H0, R8.H0_H0",
        "HADD2 R23, |R22|, -RZ.H0_H0",
        "HFMA2 R23, R22, RZ, R7",
        "HADD2 R23, R22, -0, 0",
        "HMUL2 R23, R22, RZ",
        "HMNMX2 R0, R0.H0_H0, R7.H0_H0, !PT",
        "HSETP2.GT.AND P0, PT, |R10|.H0_H0, RZ.H0_H0, PT",
        "F2FP.F16.E4M3.UNPACK_B R17, R0",
        "F2F.F64.F32 R4, R3",
        "I2FP.F32.S32 R9, R12",
        "I2F.F64.S64 R6, R10",
        "I2F.S8 R6, R10.B1",
        "F2I.NTZ R12, R6",
        "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R7",
        "LDGMC.E.F32ADD.F16x2.RN.STRONG.SYS R7, [RZ.U32+UR6]",
        "REDG.E.MAX.F16x2.RN.STRONG.GPU desc[UR4][R2.64], R7",
        "UTMAREDG.2D.MIN [UR8], [UR4]",
        "FADD R0, R1, R2",
        "ATOMS.CAST.SPIN R5, [R2], R4, R5",
    ],
)
def test_what_rounds_nothing_below_float32(text: str) -> None:
    assert arithmetic(instruction(text)) is None


operand = st.sampled_from(["R1", "-R2.H0_H0", "|R3|", "c[0x0][0x28]", "UR4", "R5.reuse.H1_H1"])


@given(
    st.sampled_from(["HADD2", "HFMA2", "HFMA2.MMA", "HFMA2.RELU", "HADD2.BF16_V2"]),
    st.lists(operand, max_size=8),
)
def test_halves_without_a_zero_among_them_are_a_sum(opcode: str, operands: list[str]) -> None:
    found = arithmetic(Instruction(opcode, tuple(operands)))
    assert found is not None and found.kind == "sum"


@given(
    st.floats(width=16, allow_nan=False, allow_infinity=False).filter(bool),
    st.sampled_from(["{:.25g}", "{:.20e}"]),
)
def test_no_number_but_zero_is_taken_for_zero(value: float, form: str) -> None:
    half = form.format(value)
    for operands in (("R1", "R2", half, half), ("R1", "R2", half, "0"), ("R1", "R2", "0", half)):
        assert arithmetic(Instruction("HADD2", operands)) == Arithmetic("sum", "float16")
    assert arithmetic(Instruction("HADD2", ("R1", "R2", "0", "-0"))) is None


def test_the_coarsest_of_some_types() -> None:
    assert coarsest(("float32", "float16", "float64")) == "float16"
    assert coarsest(("float16", "bfloat16")) == "bfloat16"
    assert coarsest(("int32",)) is None and coarsest(()) is None
    assert SIGNIFICANT_BITS["tf32"] == SIGNIFICANT_BITS["float16"]
