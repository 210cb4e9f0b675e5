"""Open kernels: Python whose host side is its own. Building is a syntax check.

The source must define the class `ModelNew`, the entry of KernelBench-form candidates. Nothing is
imported or run here; that happens in a sandboxed worker.
"""

from __future__ import annotations

import ast
import platform
from pathlib import Path
from typing import ClassVar

from kernelwright.core.kernel import Kernel
from kernelwright.core.target import Target, TargetName
from kernelwright.languages import guard
from kernelwright.languages.base import Compiled, Language, Refused

ENTRY = "ModelNew"


class PythonLanguage(Language):
    """A Python module with a class `ModelNew`."""

    name: ClassVar[str] = "python"
    targets: ClassVar[frozenset[TargetName]] = frozenset({"cpu", "cuda"})

    def missing(self, target: Target) -> str | None:
        """Nothing: Python is running."""
        return None

    def tool(self, target: Target) -> str:
        """The interpreter, whose grammar the check follows."""
        return f"Python {platform.python_version()}"

    def compile(self, kernel: Kernel, target: Target, folder: Path) -> Compiled:
        """The source itself, if it parses and defines the entry."""
        guard.check_paths(kernel)
        if len(kernel.sources) != 1:
            raise Refused(f"an open kernel is one source; this one has {len(kernel.sources)}")
        source = kernel.sources[0]
        try:
            tree = ast.parse(source.text, source.path)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
            raise Refused(f"{source.path}{line}: {getattr(error, 'msg', None) or error}") from error
        if not any(isinstance(node, ast.ClassDef) and node.name == ENTRY for node in tree.body):
            raise Refused(f"{source.path}: no class '{ENTRY}'; an open kernel defines one at top level")
        path = folder / "kernel.py"
        path.write_text(source.text, encoding="utf-8")
        return Compiled(path, "")
