"""Names of the types that instructions compute in, and how many significant bits each has.

Names are those of torch where torch has the type. `tf32` is what tensor cores read of a float32.
"""

from __future__ import annotations

SIGNIFICANT_BITS = {
    "float64": 53, "float32": 24, "tf32": 11, "float16": 11, "bfloat16": 8,
    "float8_e4m3": 4, "float8_e4m3fn": 4, "float8_e4m3fnuz": 4, "float6_e2m3": 4,
    "float8_e5m2": 3, "float8_e5m2fnuz": 3, "float6_e3m2": 3, "float4_e2m1": 2, "float8_e8m0fnu": 1,
}  # fmt: skip
"""Of floating-point types, the leading bit included."""

TOKENS = {
    "F64": "float64", "F32": "float32", "TF32": "tf32", "F16": "float16", "BF16": "bfloat16",
    "E4M3": "float8_e4m3", "E5M2": "float8_e5m2", "E2M3": "float6_e2m3", "E3M2": "float6_e3m2",
    "E2M1": "float4_e2m1",
    "S8": "int8", "U8": "uint8", "S4": "int4", "U4": "uint4",
}  # fmt: skip
"""Modifier of an opcode to the type that it stands for."""


def type_of(modifier: str) -> str | None:
    """The type that a modifier names, vectors such as `F16x2` and `BF16_V2` included; None if none."""
    scalar = modifier.partition("x")[0].partition("_")[0]
    return TOKENS.get(scalar)


def coarsest(types: tuple[str, ...]) -> str | None:
    """The floating-point type with the fewest significant bits; None where there is none."""
    known = [name for name in types if name in SIGNIFICANT_BITS]
    return min(known, key=SIGNIFICANT_BITS.__getitem__, default=None)
