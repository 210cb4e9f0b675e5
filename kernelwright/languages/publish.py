"""A kernel as files: a folder with `kernel.json` and its sources beside it, or one `.json` file.

In the folder form the sources are files that one can read and edit; `kernel.json` has everything
else. Both forms read back to a kernel of the same hash.
"""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernelwright.core.errors import EnvironmentFault, UsageError, first_line
from kernelwright.core.file import read_file
from kernelwright.core.kernel import Kernel
from kernelwright.languages import guard
from kernelwright.languages.base import Refused

RECORD = "kernel.json"
TEXT_BYTES = 16 << 20
"""A larger source is refused: no compiler would take it in reasonable time."""


def write_kernel(kernel: Kernel, directory: str | Path) -> Path:
    """Publish `kernel` in `directory`, or as one file where the name ends in `.json`. Returns the path.

    `kernel.json` is written last, so that a folder is a published kernel only once it is whole.
    UsageError if the folder holds other files and no published kernel, EnvironmentFault if it
    cannot be written.
    """
    path = Path(directory)
    record = kernel.model_dump(mode="json")
    try:
        if path.suffix == ".json":
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, _text(record))
            return path
        _check(kernel, path)
        for source in kernel.sources:
            _write(path / source.path, source.text)
        record["sources"] = [{"path": source.path} for source in kernel.sources]
        _write(path / RECORD, _text(record))
    except OSError as error:
        raise EnvironmentFault(f"cannot write kernel to '{path}': {error.strerror or error}") from error
    return path


def check_place(directory: str | Path) -> None:
    """What `write_kernel` would say of this place, as far as that can be told before there is a kernel."""
    path = Path(directory)
    if path.suffix != ".json":
        _check_folder(path)
    elif path.is_dir():
        raise UsageError(f"'{path}' is a folder; give a .json file or a folder of another name")
    path.exists()  # OSError for a name that no system takes
    above = path.parent if path.suffix == ".json" else path
    while not os.path.lexists(above):
        above = above.parent
    if not above.is_dir():
        raise UsageError(f"'{above}' is no folder, so nothing can be written to '{path}'; give another place")
    if not os.access(above, os.W_OK | os.X_OK):
        raise EnvironmentFault(f"nothing can be written in '{above}'; give another place than '{path}'")


def load_kernel(path: Path) -> Kernel:
    """The kernel in a `.json` file or a published folder. UsageError, one line, if it is not one."""
    record = path / RECORD if path.is_dir() else path
    try:
        value = _checked(json.loads(read_text(record)))
        for source in value["sources"]:
            if "text" not in source:
                guard.check_path(source["path"])
                source["text"] = read_text(record.parent / source["path"])
        return Kernel.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{record}: not a kernel: '{where}': {first['msg']}") from error
    except (ValueError, KeyError, TypeError, RecursionError, Refused) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else first_line(error)
        raise UsageError(f"{record}: not a kernel: {reason}; write one with write_kernel") from error


def _checked(value: Any) -> dict[str, Any]:
    """The record of a kernel as far as its files are read from it; TypeError or KeyError if it is none."""
    if not isinstance(value, dict):
        raise TypeError("its JSON is no object")
    files = value["sources"]
    if not isinstance(files, list) or not all(
        isinstance(file, dict) and isinstance(file.get("path"), str) for file in files
    ):
        raise TypeError("'sources' is no list of files with a 'path'")
    return value


def read_text(path: Path) -> str:
    """A source's text as it is, line ends included. UsageError, one line, if it cannot be read."""
    try:
        return read_file(path, TEXT_BYTES).decode("utf-8")
    except FileNotFoundError:
        raise UsageError(
            f"no kernel file '{path}'; give a .cpp, .cu, .py or .json file or a published folder"
        ) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"kernel file '{path}' is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise UsageError(f"cannot read kernel file '{path}': {error.strerror}") from error


def _check(kernel: Kernel, path: Path) -> None:
    try:
        guard.check_paths(kernel)
    except Refused as refusal:
        raise UsageError(
            f"the kernel cannot be published as a folder: {refusal}; give a .json file"
        ) from refusal
    if any(source.path == RECORD for source in kernel.sources):
        raise UsageError(f"a source is called {RECORD}, which is taken; give a .json file to write to")
    path.mkdir(parents=True, exist_ok=True)
    _check_folder(path)


def _check_folder(path: Path) -> None:
    if path.is_dir() and any(path.iterdir()) and not (path / RECORD).exists():
        raise UsageError(f"folder '{path}' holds other files; give an empty or new one")


def _text(record: dict[str, Any]) -> str:
    return json.dumps(record, indent=2, ensure_ascii=True) + "\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        fresh.write_bytes(text.encode("utf-8"))
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
