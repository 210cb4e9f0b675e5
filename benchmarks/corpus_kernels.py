"""The corpus: kernels in `tests/cheats/corpus/` that say in their first two lines what they are.

    // accepted: one pass, with sums that are rescaled       or    # rejected (answer, time): keeps answers
    // problem: softmax, in CI                                     # problem: softmax

`problem` is the name of a file in `tests/cheats/corpus/problems/`, or `examples/NAME` for one of
`examples/problems/`. Kinds are those of a verdict's reason, of which one has to be given. Those `in CI`
are judged by the tests; `python -m benchmarks.corpus` judges all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import UsageError

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "cheats" / "corpus"
_FIRST = re.compile(r"(?://|#) (?P<expected>accepted|rejected)(?: \((?P<kinds>[a-z, ]+)\))?: (?P<why>.+)")
_SECOND = re.compile(r"(?://|#) problem: (?P<problem>[a-z0-9_/]+)(?P<ci>, in CI)?")


@dataclass(frozen=True)
class CorpusKernel:
    """One file of the corpus."""

    path: Path
    problem: Path
    expected: str
    """`accepted` or `rejected`."""
    kinds: frozenset[str]
    """Kinds of reason that are right for a rejection; empty for an honest kernel."""
    why: str
    in_ci: bool

    @property
    def name(self) -> str:
        """Folder and file name."""
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def is_open(self) -> bool:
        """Whether it brings its own Python."""
        return self.path.suffix == ".py"


def corpus() -> Iterator[CorpusKernel]:
    """Every kernel, those of one problem and one kind of worker together, honest ones after hostile ones."""
    paths = [path for kind in ("honest", "hostile") for path in (CORPUS / kind).iterdir() if path.is_file()]
    found = [read(path) for path in paths if path.suffix in (".cpp", ".py")]
    yield from sorted(found, key=_order)


def _order(one: CorpusKernel) -> tuple[bool, Path, bool, bool, str]:
    """Small problems first."""
    large = not one.problem.is_relative_to(CORPUS)
    return large, one.problem, one.is_open, one.expected != "rejected", one.name


def read(path: Path) -> CorpusKernel:
    """What a file says of itself. UsageError, one line, where it does not say it in this form."""
    first, second, *_ = [*path.read_text(encoding="utf-8").splitlines(), "", ""]
    said, about = _FIRST.fullmatch(first), _SECOND.fullmatch(second)
    if said is None or about is None:
        wanted = "'// accepted: WHY' or '// rejected (KINDS): WHY', then '// problem: NAME' (# in Python)"
        raise UsageError(f"{path.name} begins with {first!r}, {second!r}; write {wanted}")
    if (said["expected"] == "rejected") != bool(said["kinds"]):
        raise UsageError(
            f"{path.name}: a rejected kernel names kinds in parentheses, an accepted one does not"
        )
    return CorpusKernel(
        path=path,
        problem=_problem(path, about["problem"]),
        expected=said["expected"],
        kinds=frozenset(said["kinds"].split(", ")) if said["kinds"] else frozenset(),
        why=said["why"],
        in_ci=about["ci"] is not None,
    )


def _problem(path: Path, name: str) -> Path:
    folder, _, last = name.rpartition("/")
    found = (ROOT / "examples" / "problems" if folder == "examples" else CORPUS / "problems") / f"{last}.py"
    if folder not in ("", "examples") or not found.is_file():
        raise UsageError(
            f"{path.name}: no problem '{name}'; give a file of {CORPUS.name}/problems, or examples/NAME"
        )
    return found
