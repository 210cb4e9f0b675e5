"""Element types by name, with what a kernel's source calls them. No torch here."""

from __future__ import annotations

from typing import Literal, get_args

Dtype = Literal[
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"
]

DTYPES: tuple[Dtype, ...] = get_args(Dtype)

ITEM_BYTES: dict[Dtype, int] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip

FLOATS: frozenset[Dtype] = frozenset({"float64", "float32", "float16", "bfloat16"})
