"""Arguments of steps as numbers: addresses and bit patterns for entries, values for library calls."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

from kernelwright.core.dtypes import DTYPES, ITEM_BYTES
from kernelwright.core.errors import UsageError, did_you_mean
from kernelwright.core.expr import evaluate
from kernelwright.core.plan import Arg, BufferArg, FloatArg, IntArg
from kernelwright.execute.bound import Address, BoundBuffer, DtypeName, Scalar, View
from kernelwright.execute.reports import PlanRefused

_INT_RANGE = {"int32": (-(1 << 31), (1 << 31) - 1), "int64": (-(1 << 63), (1 << 63) - 1)}


def bind_args(
    where: str, args: Iterable[Arg], buffers: Mapping[str, BoundBuffer], axes: Mapping[str, int]
) -> tuple[Address | Scalar, ...]:
    """Arguments of an entry, in order."""
    return tuple(_arg(f"{where} argument {index}", arg, buffers, axes) for index, arg in enumerate(args))


def _arg(
    where: str, arg: Arg, buffers: Mapping[str, BoundBuffer], axes: Mapping[str, int]
) -> Address | Scalar:
    match arg:
        case BufferArg():
            return _address(where, arg, buffers, axes)
        case IntArg():
            value = _number(where, arg.value, axes)
            low, high = _INT_RANGE[arg.dtype]
            if not low <= value <= high:
                raise PlanRefused(
                    f"{where} is {value}, which does not fit {arg.dtype}; pass int64 or keep the axes smaller"
                )
            return Scalar(int.from_bytes(struct.pack("<q", value), "little"))
        case FloatArg():
            return Scalar(_float_bits(where, arg))
    raise PlanRefused(f"{where} is a {arg.kind}, which has no executor yet; pass a buffer, an int or a float")


def _float_bits(where: str, arg: FloatArg) -> int:
    try:
        packed = struct.pack("<f" if arg.dtype == "float32" else "<d", arg.value)
    except OverflowError as error:
        raise PlanRefused(
            f"{where} is {arg.value}, which does not fit {arg.dtype}; pass it as float64"
        ) from error
    return int.from_bytes(packed, "little")


def _address(
    where: str, arg: BufferArg, buffers: Mapping[str, BoundBuffer], axes: Mapping[str, int]
) -> Address:
    buffer = _known(where, arg.buffer, buffers)
    offset = _number(where, arg.offset, axes)
    if not 0 <= offset <= buffer.numel:
        raise PlanRefused(f"{where} points at element {offset} of '{buffer.name}', which has {buffer.numel}")
    return Address(buffer.name, offset * ITEM_BYTES[buffer.dtype])


def bind_value(where: str, value: Any, buffers: Mapping[str, BoundBuffer], axes: Mapping[str, int]) -> Any:
    """One argument of a library call.

    JSON numbers, strings, booleans, null and lists stand for themselves; `{"buffer": name}` with
    optional `shape`, `strides` and `offset` is a view; `{"dtype": name}` an element type;
    `{"expr": text}` an integer over axes.
    """
    match value:
        case list() | tuple():
            return [bind_value(where, item, buffers, axes) for item in value]
        case {"buffer": _}:
            return bind_view(where, value, buffers, axes)
        case {"dtype": name, **rest} if not rest and name in DTYPES:
            return DtypeName(name)
        case {"expr": text, **rest} if not rest and isinstance(text, str):
            return _number(where, text, axes)
        case None | bool() | int() | float() | str():
            return value
    raise PlanRefused(
        f"{where} has argument {value!r}; allowed are JSON values, buffer, dtype and expr objects"
    )


def bind_view(
    where: str, value: Mapping[str, Any], buffers: Mapping[str, BoundBuffer], axes: Mapping[str, int]
) -> View:
    """A buffer as a library call sees it; PlanRefused if the view leaves the buffer."""
    unknown = set(value) - {"buffer", "shape", "strides", "offset"}
    if unknown or not isinstance(value["buffer"], str):
        raise PlanRefused(f"{where} has view {value!r}; allowed keys: buffer, shape, strides, offset")
    buffer = _known(where, value["buffer"], buffers)
    if "shape" not in value:
        if len(value) > 1:
            raise PlanRefused(
                f"{where} views '{buffer.name}' with strides or offset but no shape; give the shape too"
            )
        return View(buffer.name)
    shape = _sizes(where, value["shape"], axes)
    strides = _sizes(where, value["strides"], axes) if "strides" in value else contiguous_strides(shape)
    offset = _number(where, value.get("offset", 0), axes)
    _check_view(where, buffer, shape, strides, offset)
    return View(buffer.name, shape, strides, offset)


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _check_view(
    where: str, buffer: BoundBuffer, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> None:
    if len(shape) != len(strides) or min((*shape, *strides, offset), default=0) < 0:
        raise PlanRefused(
            f"{where} views '{buffer.name}' with shape {list(shape)}, strides {list(strides)} and offset"
            f" {offset}; all must be 0 or more, and there must be one stride for each size"
        )
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if 0 not in shape and last >= buffer.numel:
        raise PlanRefused(f"{where} views '{buffer.name}' up to element {last}, but it has {buffer.numel}")


def _sizes(where: str, values: Any, axes: Mapping[str, int]) -> tuple[int, ...]:
    if not isinstance(values, (list, tuple)):
        raise PlanRefused(f"{where} has {values!r} where a list of sizes belongs")
    return tuple(_number(where, value, axes) for value in values)


def _known(where: str, name: str, buffers: Mapping[str, BoundBuffer]) -> BoundBuffer:
    if name not in buffers:
        raise PlanRefused(f"{where} names buffer '{name}'; {did_you_mean(name, buffers)}")
    return buffers[name]


def _number(where: str, expr: Any, axes: Mapping[str, int]) -> int:
    if not isinstance(expr, (int, str)) or isinstance(expr, bool):
        raise PlanRefused(f"{where} has {expr!r} where an integer or an expression belongs")
    try:
        return evaluate(expr, axes)
    except UsageError as error:
        raise PlanRefused(f"{where}: {error}") from error
