"""The native launcher, compiled once per machine and loaded by ctypes.

`launcher.cpp` is compiled with g++ into the cache directory, under a name that holds the hash of
its text and of the compiler's version, and put in place by an atomic rename: any number of
processes may do it at once. Its checksum stands behind it in the file, where no loader looks, so
that one that was damaged is made again. Nothing of CUDA is needed to compile it.
"""

from __future__ import annotations

import ctypes as c
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from kernelwright.core.config import cache_dir
from kernelwright.core.errors import EnvironmentFault, InternalFault, first_line
from kernelwright.languages.bounded import require_room
from kernelwright.languages.cpp import compiler

FLAGS = ("-std=c++17", "-O2", "-shared", "-fPIC", "-ldl")
PATH_VARIABLE = "KERNELWRIGHT_LAUNCHER"
"""Environment variable of a worker: where its launcher lies."""
_ABI = 1
_COMPILE_SECONDS = 120
_DIGEST_BYTES = 32


class Step(c.Structure):
    """`kw_step` of `launcher.cpp`."""

    _fields_ = [
        ("kind", c.c_int32),
        ("stream", c.c_int32),
        ("function", c.c_void_p),
        ("grid", c.c_uint32 * 3),
        ("block", c.c_uint32 * 3),
        ("cluster", c.c_uint32 * 3),
        ("shared_bytes", c.c_uint32),
        ("flags", c.c_uint32),
        ("first_arg", c.c_int32),
        ("destination", c.c_int32),
        ("source", c.c_int32),
        ("byte", c.c_int32),
        ("first_after", c.c_int32),
        ("after_count", c.c_int32),
        ("nbytes", c.c_uint64),
    ]


class Patch(c.Structure):
    """`kw_patch` of `launcher.cpp`: which word of the value table takes which buffer's address."""

    _fields_ = [("word", c.c_int32), ("buffer", c.c_int32), ("offset", c.c_uint64)]


class Error(c.Structure):
    """`kw_error` of `launcher.cpp`."""

    _fields_ = [("step", c.c_int32), ("code", c.c_int32), ("text", c.c_char * 256)]


@lru_cache(maxsize=1)
def launcher() -> c.CDLL:
    """The loaded launcher; EnvironmentFault if it cannot be compiled or loaded here."""
    path = compiled()
    try:
        library = c.CDLL(str(path))
    except OSError as error:
        raise EnvironmentFault(
            f"the launcher {path} does not load: {first_line(error)}; delete it and run again"
        ) from error
    _declare(library)
    if library.kw_abi() != _ABI or library.kw_step_size() != c.sizeof(Step):
        raise InternalFault(f"the launcher {path} and its Python side disagree about their structures")
    return library


def _command() -> list[str]:
    """The C++ compiler's command, its program by path; EnvironmentFault if there is none."""
    name, *rest = compiler()
    found = shutil.which(name)
    if found is None:
        raise EnvironmentFault(f"no C++ compiler: '{name}' is not on PATH; install g++ or set CXX")
    return [found, *rest]


def _declare(library: c.CDLL) -> None:
    pointer, error = c.c_void_p, c.POINTER(Error)
    signatures: dict[str, tuple[type | None, list[type]]] = {
        "kw_abi": (c.c_int, []),
        "kw_step_size": (c.c_size_t, []),
        "kw_driver": (c.c_int, [error]),
        "kw_module_load": (c.c_int, [c.c_char_p, c.POINTER(pointer), error]),
        "kw_module_unload": (c.c_int, [pointer, error]),
        "kw_module_function": (
            c.c_int,
            [pointer, c.c_char_p, c.c_uint32, c.c_uint32, c.POINTER(pointer), error],
        ),
        "kw_program_new": (
            pointer,
            [c.c_int, *[pointer, c.c_int32] * 4, c.c_int32, error],
        ),
        "kw_program_free": (None, [pointer]),
        "kw_program_run": (c.c_int, [pointer, pointer, pointer, error]),
    }  # fmt: skip
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def compiled() -> Path:
    """Path of the shared object, compiled now if it is not in the cache.

    Workers may neither write there nor run a compiler: whoever starts one compiles first, and hands
    the path over in `KERNELWRIGHT_LAUNCHER`.
    """
    if PATH_VARIABLE in os.environ:
        return Path(os.environ[PATH_VARIABLE])
    source = files("kernelwright.execute").joinpath("launcher.cpp").read_text(encoding="utf-8")
    command = _command()
    version = _run([*command, "--version"]).partition("\n")[0]
    key = sha256("\0".join([source, *FLAGS, *command, version]).encode()).hexdigest()[:24]
    path = cache_dir() / "launcher" / f"launcher-{key}.so"
    if not _whole(path):
        _compile(command, source, path)
    return path


def _whole(path: Path) -> bool:
    try:
        data = path.read_bytes()
    except OSError:
        return False
    return sha256(data[:-_DIGEST_BYTES]).digest() == data[-_DIGEST_BYTES:]


def _run(command: list[str]) -> str:
    """What the compiler prints; EnvironmentFault where it fails or does not end."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFault(
            f"{command[0]} does not run: {error}; set CXX to a working C++ compiler"
        ) from error
    if ran.returncode != 0:
        raise EnvironmentFault(
            f"{command[0]} cannot compile the launcher: {first_error(ran.stderr)}; "
            "set CXX to a working C++ compiler"
        )
    return ran.stdout


def _compile(command: list[str], source: str, path: Path) -> None:
    """Compile beside `path` and rename onto it, so that no reader sees half a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            text, built = Path(scratch, "launcher.cpp"), Path(scratch, "launcher.so")
            text.write_text(source, encoding="utf-8")
            try:
                _run([*command, str(text), "-o", str(built), *FLAGS])
            except EnvironmentFault:
                require_room(Path(scratch))
                raise
            with built.open("ab") as file:
                file.write(sha256(built.read_bytes()).digest())
            os.replace(built, path)
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write the launcher to {path.parent}: {error.strerror or error}; "
            "free space there or set KERNELWRIGHT_CACHE"
        ) from error


def first_error(text: str) -> str:
    """The line of a compiler's output that says what is wrong."""
    lines = text.strip().splitlines() or ["no message"]
    return next((line for line in lines if "error" in line), lines[0])
