"""Tensors of safetensors files, kept by content, so that a problem means the same on every machine.

A file is 8 bytes of length, that many bytes of JSON (per tensor: type, shape, where its bytes lie), and
the bytes. A tensor that a workload names is checked against the definition and copied into the data
directory under the hash of its bytes; the problem's text names that hash.
"""

from __future__ import annotations

import hashlib
import os
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from kernelwright.core.config import data_dir
from kernelwright.core.dtypes import ITEM_BYTES, Dtype
from kernelwright.core.errors import EnvironmentFault, UsageError, did_you_mean
from kernelwright.suites.exchange.document import parse

_TYPES: dict[str, Dtype] = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
_MOST_HEADER = 100 << 20


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in the data directory."""

    digest: str
    """SHA-256 of its bytes, hex."""
    dtype: Dtype
    shape: tuple[int, ...]


def keep_tensor(file: Path, key: str) -> StoredTensor:
    """Copy the tensor called `key` into the data directory; UsageError, one line, if it is not there."""
    data, dtype, shape = _read(file, key)
    digest = hashlib.sha256(data).hexdigest()
    place = stored_path(digest)
    if not place.exists():
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as part:
                part.write(data)
            os.replace(part.name, place)
        except OSError as error:
            raise EnvironmentFault(
                f"cannot write {place}: {error.strerror}; free space or set KERNELWRIGHT_DATA"
            ) from error
    return StoredTensor(digest, dtype, shape)


def stored_path(digest: str) -> Path:
    """Where the bytes of a kept tensor lie."""
    return data_dir() / "tensors" / f"{digest}.bin"


def find_tensor_file(path: str, beside: Path) -> Path:
    """The file that a workload in folder `beside` names; UsageError, one line, if there is none.

    The path is relative to the root of a collection, which is some folder above the workload's file; the
    collection's own folder may stand in front of it.
    """
    relative = PurePosixPath(path)
    if ".." in relative.parts:
        raise UsageError(f"tensor file '{path}' leaves its collection; give a path without '..'")
    tails = [PurePosixPath(*relative.parts[start:]) for start in range(len(relative.parts))]
    absolute = [Path(path)] if relative.is_absolute() else []
    roots = [beside.resolve(), *beside.resolve().parents]
    found = [*absolute, *(root / tail for tail in tails if not tail.is_absolute() for root in roots)]
    for file in found:
        if os.path.isfile(file):
            return file
    raise UsageError(
        f"tensor file '{path}' is in no folder above '{beside}'; put it where its project has it"
    )


def _read(file: Path, key: str) -> tuple[bytes, Dtype, tuple[int, ...]]:
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            if length > min(_MOST_HEADER, file.stat().st_size):
                raise UsageError(f"'{file}' is no safetensors file: its header would be {length} bytes")
            header = parse(opened.read(length).decode("utf-8"), str(file))
            begin, end, dtype, shape = _entry(file, header, key)
            opened.seek(8 + length + begin)
            data = opened.read(end - begin)
    except OSError as error:
        raise UsageError(
            f"cannot read tensor file '{file}': {error.strerror}; give a readable one"
        ) from error
    except (struct.error, UnicodeDecodeError) as error:
        raise UsageError(f"'{file}' is no safetensors file: {error}; fetch the file itself") from error
    count = 1
    for size in shape:
        count *= size
    if len(data) != end - begin or len(data) != count * ITEM_BYTES[dtype]:
        raise UsageError(f"'{file}': '{key}' has {len(data)} bytes, its shape needs {count} x {dtype}")
    return data, dtype, shape


def _entry(file: Path, header: Any, key: str) -> tuple[int, int, Dtype, tuple[int, ...]]:
    """First and last byte, type and shape of a tensor in a header."""
    if not isinstance(header, dict) or key not in header or key == "__metadata__":
        known = header if isinstance(header, dict) else {}
        said = did_you_mean(key, [name for name in known if name != "__metadata__"])
        raise UsageError(f"'{file}' has no tensor '{key}'; {said}")
    match header[key]:
        case {"dtype": str(kind), "shape": list(shape), "data_offsets": [int(begin), int(end)]} if (
            0 <= begin <= end and all(type(size) is int and size >= 0 for size in shape)
        ):
            if kind not in _TYPES:
                raise UsageError(f"'{file}': '{key}' has type {kind}; {did_you_mean(kind, _TYPES)}")
            return begin, end, _TYPES[kind], tuple(shape)
    raise UsageError(
        f"'{file}': the header's entry '{key}' is not as the format has it; fetch the file again"
    )
