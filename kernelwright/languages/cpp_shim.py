"""The shims of a `cpp` kernel: C++ text that ties each entry to the plan's arguments.

For an entry `scale` the unit gets `extern "C" void kw_scale(void *const *args)`, which reads each
argument through the pointer in `args` and calls the user's function. The checks stand under the
function's own line, so that the compiler blames the line where the parameter list is.

Half types: a float16 or bfloat16 buffer is any pointer to a two-byte type (`_Float16`, `__bf16`,
`std::uint16_t`), since compilers differ in which they have. A bool buffer is `bool` or `unsigned char`.
"""

from __future__ import annotations

from pathlib import Path

from kernelwright.core.dtypes import Dtype
from kernelwright.languages.c_source import functions
from kernelwright.languages.signature import Parameter, Signature, describe

SUPPORT_NAME = "kw_shim.h"
UNIT_NAME = "kw_unit.cpp"

C_TYPES: dict[Dtype, str] = {
    "float64": "double", "float32": "float", "float16": "_Float16", "bfloat16": "std::uint16_t",
    "int64": "std::int64_t", "int32": "std::int32_t", "int16": "std::int16_t", "int8": "std::int8_t",
    "uint8": "std::uint8_t", "bool": "bool",
}  # fmt: skip
"""What to call an element in C++, for messages; the shim takes any type of the same size and kind."""


def support() -> str:
    """Text of the header that every unit includes first."""
    return Path(__file__).with_name("shim.h").read_text(encoding="utf-8")


def unit(path: str, text: str, entries: dict[str, Signature]) -> str:
    """The translation unit: the user's text under its own name and lines, then one shim for each entry."""
    lines = {function.name: function.line for function in functions(text)}
    parts = [f'#include "{SUPPORT_NAME}"', f'#line 1 "{path}"', text]
    for entry, signature in entries.items():
        parts += _checks(path, entry, signature, lines.get(entry))
        parts.append(_shim(entry))
    return "\n".join(parts) + "\n"


def _checks(path: str, entry: str, signature: Signature, line: int | None) -> list[str]:
    place = f'#line {line} "{path}"' if line else '#line 1 "kernelwright shim"'
    kind = f"kw_shim::kw_signature<decltype(&::{entry})>"
    conditions = [
        (f"{kind}::kw_returns_nothing", f"{entry}: the function must return void"),
        (
            f"{kind}::kw_count == {len(signature)}",
            f"{entry}: the plan passes {len(signature)} arguments ({describe(signature)})",
        ),
        *(_fits(entry, index, parameter) for index, parameter in enumerate(signature)),
    ]
    return [text for condition, message in conditions for text in (place, _assert(condition, message))]


def _fits(entry: str, index: int, parameter: Parameter) -> tuple[str, str]:
    where = f"{entry}: parameter {index + 1} takes {parameter.label}"
    if parameter.dtype is None:
        return "false", f"{where}, which exists only on CUDA"
    tag = "boolean" if parameter.dtype == "bool" else parameter.dtype
    check = "kw_buffer" if parameter.kind == "buffer" else "kw_number"
    wanted = C_TYPES[parameter.dtype] + (" *" if parameter.kind == "buffer" else "")
    condition = f"kw_shim::{check}<decltype(&::{entry}), {index}, kw_shim::kw_{tag}>()"
    return condition, f"{where} of dtype {parameter.dtype}: declare it '{wanted}'"


def _assert(condition: str, message: str) -> str:
    plain = message.replace("\\", "/").replace('"', "'")
    return f'static_assert({condition}, "{plain}");'


def _shim(entry: str) -> str:
    return "\n".join([
        f'#line 1 "kernelwright shim of {entry}"',
        f'extern "C" __attribute__((visibility("default"))) void kw_{entry}(void *const *kw_args);',
        f"void kw_{entry}(void *const *kw_args) {{ kw_shim::kw_invoke(&::{entry}, kw_args); }}",
    ])  # fmt: skip
