"""C++20 with OpenMP for the host's cores, compiled by g++ (or what `CXX` names).

A kernel's first source is the translation unit; the others may be included by name. Its entries
are ordinary `extern "C"` functions; the shims of `cpp_shim` are added behind them. Fast-math is
not on: only what leaves values alone (no errno, no traps) and contraction into fused
multiply-adds, which rounds less.

Compiling goes through assembly text, which is searched for directives that read files.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.kernel import Kernel
from kernelwright.core.target import Target, TargetName
from kernelwright.languages import guard
from kernelwright.languages.base import Compiled, Language, Refused
from kernelwright.languages.bounded import Ended, run_bounded
from kernelwright.languages.cpp_headers import HEADERS
from kernelwright.languages.cpp_shim import SUPPORT_NAME, UNIT_NAME, support, unit
from kernelwright.languages.signature import signatures

FLAGS = (
    "-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-fvisibility=hidden",
    "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast",
)  # fmt: skip
OPTIONS = (
    r"-O[123]",
    r"-mprefer-vector-width=(128|256|512)",
    r"-march=(native|x86-64-v[234])",
    r"-f(no-)?(unroll-loops|tree-vectorize|prefetch-loop-arrays|schedule-insns2?|inline-functions)",
    r"-fvect-cost-model=(unlimited|dynamic|cheap|very-cheap)",
    r"-fsanitize=address,undefined|-fno-sanitize-recover=all|-fno-omit-frame-pointer|-g1",
)
"""Patterns of what `Kernel.options` may hold."""
PROBE = (
    '#include <cmath>\n#include <omp.h>\nextern "C" void kw_probe(int *n) { *n = omp_get_max_threads(); }\n'
)
"""If this does not compile either, the machine is at fault and not the kernel."""


class CppLanguage(Language):
    """C++ for the CPU."""

    name: ClassVar[str] = "cpp"
    targets: ClassVar[frozenset[TargetName]] = frozenset({"cpu"})

    def missing(self, target: Target) -> str | None:
        """A sentence where there is no compiler."""
        try:
            wanted = compiler()[0]
        except EnvironmentFault as fault:
            return str(fault)
        if shutil.which(wanted):
            return None
        return f"no C++ compiler: '{wanted}' is not on PATH; install g++ 11 or newer, or set CXX"

    def tool(self, target: Target) -> str:
        """Compiler, its version, and the instruction set that `-march=native` stands for."""
        found = shutil.which(compiler()[0])
        if found is None:
            raise EnvironmentFault(str(self.missing(target)))
        status = os.stat(found)
        return f"{_version(found, status.st_mtime_ns, status.st_size)}; {cpu_identity()}"

    def content(self, kernel: Kernel, target: Target) -> dict[str, Any]:
        """The unit with its shims, the other sources, and all flags."""
        return {"files": self._files(kernel), "flags": [*compiler(), *FLAGS, *kernel.options]}

    def compile(self, kernel: Kernel, target: Target, folder: Path) -> Compiled:
        """A shared object that exports `kw_<entry>` for each entry."""
        own = frozenset(source.path for source in kernel.sources)
        for source in kernel.sources:
            guard.check_includes(source.path, source.text, HEADERS, own)
        guard.check_options(kernel.options, OPTIONS)
        _write(folder, self._files(kernel))
        made = _assemble(folder, kernel.options)
        if not made.ok:
            return _failed(folder, made)
        return _link(folder, list(signatures(kernel.plan, "call")), made.output)

    def _files(self, kernel: Kernel) -> dict[str, str]:
        guard.check_paths(kernel)
        entries = signatures(kernel.plan, "call")
        if not kernel.sources and entries:
            raise Refused(f"the plan calls {', '.join(entries)} but the kernel has no source")
        files = {source.path: source.text for source in kernel.sources}
        first = kernel.sources[0] if kernel.sources else None
        text = unit(first.path, first.text, entries) if first else ""
        return {**files, SUPPORT_NAME: support(), UNIT_NAME: text}


def compiler() -> list[str]:
    """The compiler's command: `CXX` split as a shell would, or g++. EnvironmentFault for unclosed quotes."""
    given = os.environ.get("CXX", "")
    try:
        command = shlex.split(given) or ["g++"]
    except ValueError as error:
        raise EnvironmentFault(
            f"CXX is {given!r}, which is no command ({error}); set it to a compiler"
        ) from error
    return [os.path.abspath(command[0]) if "/" in command[0] else command[0], *command[1:]]


@lru_cache
def cpu_identity() -> str:
    """What `-march=native` depends on: a digest of the processor's name and features."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        lines = [platform.machine(), platform.processor()]
    kept = [
        line for line in lines if re.match(r"(vendor_id|model name|cpu family|model\s|flags|Features)", line)
    ]
    return "cpu " + hashlib.sha256("\n".join(kept or lines).encode()).hexdigest()[:12]


@lru_cache
def _version(path: str, changed_ns: int, size: int) -> str:
    """First line of `--version`; asked again only when the file at `path` has changed."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFault(f"{path} does not run: {error}; set CXX to a working C++ compiler") from error
    lines = (done.stdout + done.stderr).strip().splitlines()
    if done.returncode or not lines:
        raise EnvironmentFault(f"{path} --version fails; set CXX to a working C++ compiler")
    return lines[0]


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _assemble(folder: Path, options: tuple[str, ...]) -> Ended:
    return run_bounded(
        [*compiler(), *FLAGS, *options, "-iquote", ".", "-S", "-o", "kw_unit.s", UNIT_NAME], folder
    )


def _link(folder: Path, entries: list[str], log: str) -> Compiled:
    assembly = (folder / "kw_unit.s").read_text(encoding="utf-8", errors="replace")
    reading = guard.reads_files(assembly)
    if reading:
        return Compiled(None, f"{log}the kernel's assembly has '{reading}', which is not allowed")
    hidden = [entry for entry in entries if not re.search(rf"^_?kw_{entry}:", assembly, re.MULTILINE)]
    if hidden:
        return Compiled(
            None, f"{log}the source hides the shims of {', '.join(hidden)}; do not define names in kw_"
        )
    linked = run_bounded(
        [*compiler(), "-shared", "-fPIC", "-fopenmp", "-o", "kernel.so", "kw_unit.s"], folder
    )
    if not linked.ok:
        return _failed(folder, linked, log)
    return Compiled(folder / "kernel.so", log + linked.output)


def _failed(folder: Path, ended: Ended, log: str = "") -> Compiled:
    """A failed build; EnvironmentFault where not even a trivial kernel compiles and links."""
    command = " ".join(compiler())
    if command not in _proven:
        _probe(folder)
        _proven.add(command)
    by_kernel = not ended.timed_out and "signal terminated program" not in ended.output
    return Compiled(None, log + ended.output, lasting=by_kernel)


_proven: set[str] = set()
"""Compilers that this process has seen compile a trivial kernel."""


def _probe(folder: Path) -> None:
    (folder / "kw_probe.cpp").write_text(PROBE)
    probe = run_bounded(
        [*compiler(), *FLAGS, "-shared", "-o", "kw_probe.so", "kw_probe.cpp"], folder, seconds=60
    )
    if not probe.ok:
        lines = probe.output.strip().splitlines() or [f"exit code {probe.code}"]
        raise EnvironmentFault(
            f"{compiler()[0]} does not compile a trivial kernel: {lines[0]}; repair it or set CXX"
        )
