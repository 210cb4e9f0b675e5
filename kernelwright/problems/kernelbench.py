"""KernelBench-form files, as their own harness means them.

A file defines `class Model(nn.Module)`, `get_inputs()` and `get_init_inputs()` (positional
arguments of the constructor), with sizes as module-level constants. The generator is seeded again
before the model is made and before inputs are drawn. `.eval()` is never called, so batch-norm
buffers change and dropout draws. Axes are the constants: the file is run again with other values.

The file is trusted like any program of the user's; a limited worker is the caller's business.
"""

from __future__ import annotations

import ast
import hashlib
import io
import sys
import tokenize
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelwright.core.errors import ProblemError, boundary, did_you_mean
from kernelwright.core.file import read_file
from kernelwright.core.problem import Entry, Mode
from kernelwright.problems.constants import constants, with_constants
from kernelwright.problems.literal import literal_text
from kernelwright.problems.normalize import normalize
from kernelwright.problems.text_module import text_module

TEXT_BYTES = 16 << 20
"""A larger problem file is refused: it holds data, which belongs in a file that it loads."""
FORM = "a problem file defines Model (an nn.Module), get_inputs() and get_init_inputs()"


class KernelBenchOrigin:
    """A problem file; the text is kept, so the file itself is not needed again."""

    def __init__(self, text: str, entry: Entry, mode: Mode = "train") -> None:
        self.text = text
        self.entry = entry
        self.mode: Mode = mode
        self.path = Path(entry.location)
        self.name = self.path.stem
        self._tree, self.identity = self._parsed()
        self._runs: dict[tuple[tuple[str, int], ...], types.ModuleType] = {}

    @classmethod
    def read(cls, path: Path, mode: Mode = "train") -> KernelBenchOrigin:
        """Read a file; ProblemError if it is missing, unreadable, does not parse or lacks a part."""
        try:
            text = _decoded(read_file(path, TEXT_BYTES))
        except (OSError, UnicodeDecodeError, SyntaxError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ProblemError(f"problem file {path} cannot be read: {reason}") from error
        origin = cls(text, Entry(kind="kernelbench", location=str(path.resolve())), mode)
        origin._check_form()
        return origin

    def sizes(self) -> dict[str, int]:
        """The file's integer constants."""
        return constants(self._tree)

    def depends_on_forward(self) -> bool:
        """A constant that a shape depends on is an axis, even if it cannot be changed alone."""
        return False

    def excludes(self, name: str) -> frozenset[str]:
        """Constants do not exclude each other."""
        return frozenset()

    def init_args(self) -> tuple[str, ...]:
        """Text of each value that `get_init_inputs` returns."""
        return tuple(literal_text(value) for value in self._init_inputs(self._run({})))

    def init_values(self, axes: Mapping[str, int]) -> list[Any]:
        """What `get_init_inputs` returns."""
        return self._init_inputs(self._run(axes))

    def module(self, axes: Mapping[str, int]) -> Callable[..., Any]:
        """`Model(*get_init_inputs())`."""
        namespace = self._run(axes)
        init_inputs = self._init_inputs(namespace)
        with boundary(ProblemError, f"{self.path.name}: Model(*get_init_inputs()) raises"):
            made = getattr(namespace, self.entry.model)(*init_inputs)
        if not callable(made):
            raise ProblemError(
                f"{self.path.name}: Model must be an nn.Module, it makes a {type(made).__name__}; {FORM}"
            )
        if self.mode == "eval" and hasattr(made, "eval"):
            made.eval()
        found: Callable[..., Any] = made
        return found

    def arguments(self, axes: Mapping[str, int]) -> list[Any]:
        """`get_inputs()`."""
        with boundary(ProblemError, f"{self.path.name}: get_inputs() raises"):
            given = getattr(self._run(axes), self.entry.inputs)()
        if not isinstance(given, list | tuple):
            given = [given]
        return list(given)

    def _init_inputs(self, namespace: types.ModuleType) -> list[Any]:
        function = getattr(namespace, self.entry.init, None)
        with boundary(ProblemError, f"{self.path.name}: get_init_inputs() raises"):
            given = function() if function else []
        return list(given) if isinstance(given, list | tuple) else [given]

    def _parsed(self) -> tuple[ast.Module, str]:
        """The syntax tree, and the text that the hash covers."""
        try:
            return ast.parse(self.text), normalize(self.text)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            reason = f"{getattr(error, 'msg', error)}" + (f" (line {line})" if line else "")
            raise ProblemError(f"problem file {self.path} does not parse: {reason}") from error
        except (RecursionError, MemoryError) as error:
            raise ProblemError(
                f"problem file {self.path} does not parse: an expression is nested too deeply; split it"
            ) from error

    def _check_form(self) -> None:
        defined = list(_definitions(self._tree))
        for needed in (self.entry.model, self.entry.inputs):
            if needed not in defined:
                raise ProblemError(
                    f"problem file {self.path} has no '{needed}' ({FORM}); "
                    f"it defines: {', '.join(defined) or 'nothing'}"
                )

    def _run(self, axes: Mapping[str, int]) -> types.ModuleType:
        """The file as a module, run with its constants changed to `axes`."""
        given = self.sizes()
        unknown = [name for name in axes if name not in given]
        if unknown:
            raise ProblemError(
                f"{self.path.name} has no constant '{unknown[0]}'; {did_you_mean(unknown[0], given)}"
            )
        changed = {name: size for name, size in axes.items() if given[name] != size}
        key = tuple(sorted(changed.items()))
        if key not in self._runs:
            self._runs[key] = self._executed(changed)
        return self._runs[key]

    def _executed(self, changed: Mapping[str, int]) -> types.ModuleType:
        digest = hashlib.sha256(f"{self.text}{sorted(changed.items())}".encode()).hexdigest()[:16]
        file = f"<problem {self.path.name} {digest}>"
        module = text_module(f"kernelwright_problem_{digest}", self.text, file)
        code = compile(with_constants(self._tree, changed), file, "exec")
        with boundary(ProblemError, f"problem file {self.path} cannot be run"), _beside(self.path):
            exec(code, module.__dict__)
        return module


def _decoded(data: bytes) -> str:
    """Python source as Python reads it: with a byte order mark, a coding comment or neither; any newlines."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return io.TextIOWrapper(io.BytesIO(data), encoding).read()


def _definitions(tree: ast.Module) -> Iterator[str]:
    """Names that the file defines or imports at its top level."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Let the file import its neighbours, as if it were run as a script."""
    folder = str(path.parent)
    added = path.parent.is_dir() and folder not in sys.path
    if added:
        sys.path.append(folder)
    try:
        yield
    finally:
        if added and folder in sys.path:
            sys.path.remove(folder)
