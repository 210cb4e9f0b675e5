"""Open kernels: Python whose host side is its own. Building is a syntax check.

The first source must define the class `ModelNew`, the entry of KernelBench-form candidates, or a function
`kernel`. Several sources are packed into one archive that Python imports from. Nothing is imported or run
here; that happens in a sandboxed worker.
"""

from __future__ import annotations

import ast
import platform
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.target import Target, TargetName
from kernelwright.languages import guard
from kernelwright.languages.base import Compiled, Language, Refused

ENTRY = "ModelNew"
FUNCTION = "kernel"
ARCHIVE = ".zip"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive, so that the same sources give the same bytes."""


class PythonLanguage(Language):
    """Python modules, the first with a class `ModelNew` or a function `kernel`."""

    name: ClassVar[str] = "python"
    targets: ClassVar[frozenset[TargetName]] = frozenset({"cpu", "cuda"})

    def missing(self, target: Target) -> str | None:
        """Nothing: Python is running."""
        return None

    def tool(self, target: Target) -> str:
        """The interpreter, whose grammar the check follows."""
        return f"Python {platform.python_version()}"

    def compile(self, kernel: Kernel, target: Target, folder: Path) -> Compiled:
        """The sources themselves, if they parse and the first one defines an entry."""
        guard.check_paths(kernel)
        if not kernel.sources:
            raise Refused("the kernel has no source; an open kernel has at least one")
        first, *others = kernel.sources
        if not defines_entry(_parsed(first).body):
            raise Refused(
                f"{first.path}: no class '{ENTRY}' and no function '{FUNCTION}'; "
                "an open kernel defines one at top level of its first source"
            )
        for source in others:
            if source.path.endswith(".py"):
                _parsed(source)
        if not others:
            path = folder / "kernel.py"
            path.write_text(first.text, encoding="utf-8")
        else:
            path = _packed(kernel.sources, folder / f"kernel{ARCHIVE}")
        return Compiled(path, "")


def defines_entry(body: Iterable[ast.stmt]) -> bool:
    """Whether statements at top level define what an open kernel is called by.

    A function that is compiled by Triton is device code, and no entry.
    """
    return any(
        (isinstance(node, ast.ClassDef) and node.name == ENTRY)
        or (isinstance(node, ast.FunctionDef) and node.name == FUNCTION and not _is_device_code(node))
        for node in body
    )


def _is_device_code(function: ast.FunctionDef) -> bool:
    return any("jit" in ast.unparse(decorator) for decorator in function.decorator_list)


def _parsed(source: Source) -> ast.Module:
    try:
        return ast.parse(source.text, source.path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
        raise Refused(f"{source.path}{line}: {getattr(error, 'msg', None) or error}") from error


def _packed(sources: Iterable[Source], path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for source in sources:
            archive.writestr(zipfile.ZipInfo(source.path, _EPOCH), source.text)
    return path
