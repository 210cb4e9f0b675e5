"""`read_code`: a cubin through NVIDIA's disassembler, and what was found kept beside it.

Any `nvdisasm` serves, and the first that can read the file is used: Triton's wheel brings one, the wheel
`nvidia-cuda-nvdisasm` and every CUDA toolkit do. A start of it takes some tenths of a second, so the counts
are kept in the build's own folder and go when the build goes.

Cubins are what our compilers made of a candidate's text. The tool runs with a time limit, and where
it fails, or prints what is not understood, `Unreadable` says so: nothing is concluded from a part.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import uuid
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from pydantic import ValidationError

from kernelwright.core.wire import Wire
from kernelwright.sass.code import Code, code_of
from kernelwright.sass.listing import Unreadable, parse_listing

TIMEOUT_S = 60.0
FORMAT = 1
"""Raised when the same code should be counted again."""
KEPT = "sass.json"
"""Name of the file beside the cubin."""
INSTALL = "pip install nvidia-cuda-nvdisasm"


class _Kept(Wire):
    format: int
    sha256: str
    code: Code


def read_code(cubin: Path) -> Code:
    """What the kernels in `cubin` compute with. Raises `Unreadable`: no tool, or no tool can read it."""
    try:
        digest = hashlib.sha256(cubin.read_bytes()).hexdigest()
    except OSError as error:
        raise Unreadable(f"{cubin.name} cannot be read: {error.strerror}") from error
    kept = _load(cubin.with_name(KEPT), digest)
    if kept is not None:
        return kept
    code = _disassembled(cubin)
    _store(cubin.with_name(KEPT), _Kept(format=FORMAT, sha256=digest, code=code))
    return code


def disassemblers() -> list[Path]:
    """Every `nvdisasm` of this machine, in the order in which they are tried."""
    found = find_spec("triton")
    triton = [
        Path(root, "backends", "nvidia", "bin") for root in (found and found.submodule_search_locations) or ()
    ]
    wheels = [Path(entry, "nvidia", name, "bin") for entry in sys.path for name in ("cu13", "cuda_nvdisasm")]
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    toolkits = [Path(home, "bin") for home in homes if home]
    on_path = shutil.which("nvdisasm")
    tools = [folder / "nvdisasm" for folder in (*triton, *wheels, *toolkits)]
    tools += [Path(on_path)] if on_path else []
    return list(dict.fromkeys(tool for tool in tools if os.access(tool, os.X_OK)))


def _disassembled(cubin: Path) -> Code:
    tools = disassemblers()
    if not tools:
        raise Unreadable(f"no nvdisasm on this machine; {INSTALL}")
    said = ""
    for tool in tools:
        try:
            return code_of(parse_listing(_run(tool, cubin)), version_of(tool))
        except Unreadable as error:
            said = said or str(error)
    raise Unreadable(said)


def _run(tool: Path, cubin: Path) -> str:
    """The listing of all code. `-ndf` leaves out a flow analysis that is not needed and may fail."""
    command = [str(tool), "-ndf", "-c", str(cubin)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise Unreadable(f"nvdisasm took longer than {TIMEOUT_S:g} s") from error
    except OSError as error:
        raise Unreadable(f"nvdisasm does not start: {error.strerror}") from error
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"code {done.returncode}"]
        raise Unreadable(f"nvdisasm failed: {words[0]}")
    return done.stdout.decode("utf-8", "replace")


@lru_cache
def version_of(tool: Path) -> str:
    """A disassembler's name and version; the name alone where it does not say."""
    command = [str(tool), "--version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "nvdisasm"
    found = re.search(r"\bV\d[\d.]*", done.stdout)
    return f"nvdisasm {found.group()}" if found else "nvdisasm"


def _load(path: Path, digest: str) -> Code | None:
    """What was kept of the cubin with this digest; None where nothing was, or it is damaged."""
    try:
        kept = _Kept.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return kept.code if (kept.format, kept.sha256) == (FORMAT, digest) else None


def _store(path: Path, kept: _Kept) -> None:
    """Keep it where that is possible; a build that was evicted meanwhile or a full disk is no fault here."""
    staging = path.with_name(f".{KEPT}.{uuid.uuid4().hex[:8]}")
    with suppress(OSError):
        try:
            staging.write_text(kept.model_dump_json(), encoding="utf-8")
            staging.replace(path)
        finally:
            staging.unlink(missing_ok=True)
