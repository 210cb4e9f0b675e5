"""CUDA C++ device code, compiled to a cubin for one real architecture. No toolkit is needed.

NVRTC (through `cuda.bindings`) does the work in a process of its own; `nvcc` serves where NVRTC
is not installed, or where `KERNELWRIGHT_CUDA_COMPILER=nvcc` asks for it. Entries are
`extern "C" __global__` functions; their parameters are compared with the plan's by count and size.
Launches from the device do not build: the text must not have `<<<`, and nothing is linked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.kernel import Kernel
from kernelwright.core.target import Target, TargetName
from kernelwright.languages import guard
from kernelwright.languages.base import Compiled, Language, Refused
from kernelwright.languages.bounded import Ended, python_script, run_bounded
from kernelwright.languages.c_source import blank
from kernelwright.languages.cubin import KernelFacts, read_cubin
from kernelwright.languages.cuda_headers import (
    HEADERS,
    SUPPLIED,
    headers_version,
    include_dirs,
    needs_toolkit,
)
from kernelwright.languages.signature import Signature, describe, signatures

STANDARD = "--std=c++20"
OPTIONS = (r"--?maxrregcount=\d{1,3}", r"--?fmad=(true|false)")
"""Patterns of what `Kernel.options` may hold; what trades precision for speed is not among them."""
PROBE = 'extern "C" __global__ void kw_probe(int *n) { *n = 1; }\n'
CHOICE = "KERNELWRIGHT_CUDA_COMPILER"
"""Environment variable: `nvrtc` (default) or `nvcc`."""

_SPILL = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"(\d+) bytes smem")


class CudaLanguage(Language):
    """CUDA C++ for an NVIDIA GPU."""

    name: ClassVar[str] = "cuda"
    targets: ClassVar[frozenset[TargetName]] = frozenset({"cuda"})

    def missing(self, target: Target) -> str | None:
        """A sentence where neither NVRTC nor nvcc is there."""
        if _uses_nvcc():
            return None if shutil.which("nvcc") else f"{CHOICE}=nvcc is set but nvcc is not on PATH"
        if _has_bindings():
            return None
        return "no CUDA compiler: pip install 'kernelwright[cuda]', or put nvcc on PATH"

    def tool(self, target: Target) -> str:
        """Compiler, its version, and that of the headers."""
        found = _nvcc_version(shutil.which("nvcc") or "nvcc") if _uses_nvcc() else _nvrtc_version()
        return f"{found}; {headers_version(include_dirs())}"

    def content(self, kernel: Kernel, target: Target) -> dict[str, Any]:
        """Sources, options, and the parameter sizes that the plan expects."""
        guard.check_paths(kernel)
        entries = signatures(kernel.plan, "launch")
        sizes = {name: [parameter.size for parameter in found] for name, found in entries.items()}
        return {**super().content(kernel, target), "entries": sizes}

    def compile(self, kernel: Kernel, target: Target, folder: Path) -> Compiled:
        """A cubin with every entry of the plan."""
        _check(kernel)
        log, status, lasting = _compile(kernel, target, folder)
        if status != "built":
            _blame(target, folder)
            return Compiled(None, log, lasting=lasting)
        facts = read_cubin(folder / "kernel.cubin")
        wrong = mismatch(signatures(kernel.plan, "launch"), facts)
        if wrong:
            return Compiled(None, f"{log}\n{wrong}".strip())
        return Compiled(folder / "kernel.cubin", log, resources(facts, log))


def mismatch(entries: dict[str, Signature], facts: dict[str, KernelFacts]) -> str | None:
    """How the plan's arguments differ from the kernels' parameters; None where they agree."""
    for name, signature in entries.items():
        if name not in facts:
            have = ", ".join(sorted(facts)) or "none"
            wanted = f'extern "C" __global__ void {name}(...)'
            return f"no kernel '{name}' in the source; it has: {have}; write {wanted}"
        sizes = facts[name].sizes
        if len(sizes) != len(signature):
            passed = f"{len(signature)} arguments ({describe(signature)})"
            return f"{name}: the plan passes {passed}; the kernel has {len(sizes)} parameters"
        for position, (parameter, size) in enumerate(zip(signature, sizes, strict=True), 1):
            if parameter.size != size:
                what = f"{parameter.label} of {parameter.size} bytes"
                return f"{name}: parameter {position} takes {what}; the kernel declares {size} bytes"
    return None


def resources(facts: dict[str, KernelFacts], log: str) -> dict[str, dict[str, int]]:
    """Registers, static shared bytes, stack and spill bytes of each kernel, as far as they are known."""
    found: dict[str, dict[str, int]] = {}
    for name, kernel in facts.items():
        known = {"registers": kernel.registers, "stack_bytes": kernel.stack_bytes, **_from_log(name, log)}
        found[name] = {key: value for key, value in known.items() if value is not None}
    return found


def _from_log(name: str, log: str) -> dict[str, int]:
    """What ptxas says between `Compiling entry function '<name>'` and the next entry."""
    _, _, after = log.partition(f"Compiling entry function '{name}'")
    part = after.split("Compiling entry function", 1)[0]
    if not part:
        return {}
    spill, shared = _SPILL.search(part), _SHARED.search(part)
    found = {"shared_bytes": int(shared.group(1)) if shared else 0}
    return {**found, "spill_bytes": int(spill.group(1)) + int(spill.group(2))} if spill else found


def _check(kernel: Kernel) -> None:
    own = frozenset(source.path for source in kernel.sources)
    for source in kernel.sources:
        guard.check_includes(source.path, source.text, HEADERS, own)
        launch = blank(source.text).find("<<<")
        if launch >= 0:
            line = source.text.count("\n", 0, launch) + 1
            raise Refused(f"{source.path}:{line}: '<<<' is not allowed; launches are steps of the plan")
    guard.check_options(kernel.options, OPTIONS)
    header = needs_toolkit([source.text for source in kernel.sources])
    if header and not include_dirs():
        raise EnvironmentFault(
            f"no CUDA headers for '{header}'; pip install nvidia-cuda-runtime nvidia-cuda-cccl"
        )


def _compile(kernel: Kernel, target: Target, folder: Path) -> tuple[str, str, bool]:
    """Log, status (built, failed), and whether the outcome will be the same next time."""
    for source in kernel.sources:
        path = folder / source.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source.text, encoding="utf-8")
    first = kernel.sources[0] if kernel.sources else None
    name, text = (first.path, first.text) if first else ("empty.cu", "")
    options = [f"-I{directory}" for directory in include_dirs()] + list(kernel.options)
    if _uses_nvcc():
        ended = _nvcc(folder, name, options, target)
        return ended.output, "built" if ended.ok else "failed", not ended.timed_out
    headers = {**SUPPLIED, **{source.path: source.text for source in kernel.sources[1:]}}
    return _nvrtc(folder, {"name": name, "source": text, "headers": headers}, options, target)


def _nvrtc(
    folder: Path, request: dict[str, Any], options: list[str], target: Target
) -> tuple[str, str, bool]:
    flags = [f"--gpu-architecture={target.arch}", STANDARD, "--ptxas-options=-v", *options]
    (folder / "kw_request.json").write_text(json.dumps({**request, "options": flags}), encoding="utf-8")
    (folder / "kw_reply.json").unlink(missing_ok=True)
    ended = run_bounded(python_script(Path(__file__).with_name("nvrtc_worker.py")), folder)
    try:
        reply = json.loads((folder / "kw_reply.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"{ended.output}\nthe compiler ended with code {ended.code}".strip(), "failed", False
    if reply["status"] == "lacking":
        raise EnvironmentFault(f"{reply['log'].splitlines()[0]}; pip install 'kernelwright[cuda]' again")
    return reply["log"], reply["status"], reply["status"] != "broken"


def _nvcc(folder: Path, name: str, options: list[str], target: Target) -> Ended:
    nvcc = ["nvcc", "-cubin", f"-arch={target.arch}", STANDARD, "-Xptxas=-v", "-x", "cu", *options]
    return run_bounded([*nvcc, "-o", "kernel.cubin", name], folder)


_proven: set[tuple[bool, str]] = set()
"""Compiler and architecture that this process has seen compile a trivial kernel."""


def _blame(target: Target, folder: Path) -> None:
    """Raise EnvironmentFault where not even a trivial kernel compiles."""
    if (_uses_nvcc(), target.arch) in _proven:
        return
    probe = folder / "kw_probe"
    probe.mkdir()
    (probe / "probe.cu").write_text(PROBE)
    if _uses_nvcc():
        ended = _nvcc(probe, "probe.cu", [], target)
        log, works = ended.output, ended.ok
    else:
        log, status, _ = _nvrtc(probe, {"name": "probe.cu", "source": PROBE, "headers": {}}, [], target)
        works = status == "built"
    if not works:
        reason = (log.strip().splitlines() or ["no message"])[0]
        raise EnvironmentFault(
            f"no trivial kernel compiles for {target.arch}: {reason}; try --target cuda:sm_90"
        )


def _uses_nvcc() -> bool:
    choice = os.environ.get(CHOICE, "")
    if choice in ("nvcc", "nvrtc"):
        return choice == "nvcc"
    return not _has_bindings() and shutil.which("nvcc") is not None


@lru_cache
def _has_bindings() -> bool:
    try:
        return find_spec("cuda.bindings.nvrtc") is not None
    except ImportError:
        return False


@lru_cache
def _nvrtc_version() -> str:
    from cuda.bindings import nvrtc  # type: ignore[import-untyped]

    try:
        _, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError as error:
        raise EnvironmentFault(
            f"NVRTC cannot be loaded: {error}; pip install 'kernelwright[cuda]'"
        ) from error
    return f"NVRTC {major}.{minor}"


@lru_cache
def _nvcc_version(path: str) -> str:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    found = re.search(r"V([\d.]+)", done.stdout)
    return f"nvcc {found.group(1)}" if found else "nvcc"
