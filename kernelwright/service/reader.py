"""`Reader`: texts of a request become a `Problem` and a `Kernel`, in a process of its own.

Loading a problem runs its source, so it happens neither in the queue's process nor in a lane's. A problem
is loaded once, as long as it is among the last `KEPT`.
"""

from __future__ import annotations

import re
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem

KEPT = 64
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")


class Reader:
    """Reads requests, one after the other."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._problems: OrderedDict[str, Problem] = OrderedDict()

    def problem(self, text: str) -> Problem:
        """The problem in a text; ProblemError as `load_problem`."""
        if text not in self._problems:
            with _folder([Source(path="problem.py", text=text)]) as folder:
                self._problems[text] = load_problem(folder / "problem.py")
        self._problems.move_to_end(text)
        if len(self._problems) > KEPT:
            self._problems.popitem(last=False)
        return self._problems[text]

    def read(self, problem: str, sources: Sequence[Source]) -> tuple[Problem, Kernel]:
        """The problem, and the kernel whose file is the first of `sources`; UsageError as `read_kernel`."""
        names = [source.path for source in sources]
        for name in names:
            if not _PLAIN.fullmatch(name) or names.count(name) > 1:
                raise UsageError(
                    f"kernel source '{name}': allowed is a name of its own, without folders, "
                    "of letters, digits, '_', '.' and '-'"
                )
        found = self.problem(problem)
        with _folder(sources) as folder:
            return found, read_kernel(folder / names[0], found, self._target)


@contextmanager
def _folder(sources: Sequence[Source]) -> Iterator[Path]:
    """A folder with these files for as long as they are read; errors name files as the client does."""
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as folder:
        for source in sources:
            (Path(folder) / source.path).write_text(source.text, encoding="utf-8", errors="surrogatepass")
        try:
            yield Path(folder)
        except UsageError as error:
            raise type(error)(str(error).replace(f"{folder}/", "")) from error
