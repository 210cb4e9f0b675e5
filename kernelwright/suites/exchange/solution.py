"""`Solution`: an implementation of a definition, as flashinfer-bench and SOL-ExecBench write it."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field, model_validator

from kernelwright.core.errors import UsageError
from kernelwright.suites.exchange.definition import Text
from kernelwright.suites.exchange.document import Document, Part, parse, read_text


class File(Part):
    """One source file."""

    path: Text
    content: str

    @model_validator(mode="after")
    def _inside(self) -> File:
        path = PurePosixPath(self.path)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"source path '{self.path}' leaves the solution; give a relative one without ..")
        return self


class Spec(Part):
    """How a solution is built and called."""

    language: Text | None = None
    """flashinfer-bench: one language."""
    languages: tuple[Text, ...] | None = None
    """SOL-ExecBench: all that are used."""
    entry_point: Text
    """`file::function`."""
    destination_passing_style: bool = True
    """Whether outputs are passed last, and written; else they are returned."""
    binding: str | None = None

    @property
    def written_in(self) -> tuple[str, ...]:
        """The languages, however they were given."""
        return self.languages or ((self.language,) if self.language else ())

    @property
    def entry(self) -> tuple[str, str]:
        """File and function of the entry point."""
        file, _, function = self.entry_point.partition("::")
        return file, function

    @model_validator(mode="after")
    def _whole(self) -> Spec:
        if not self.written_in:
            raise ValueError("it names no language; give 'language' or 'languages'")
        file, function = self.entry
        if not file or not function.isidentifier():
            raise ValueError(f"entry point '{self.entry_point}' is not of the form file::function")
        return self


class Solution(Document):
    """An implementation of a definition."""

    name: Text
    definition: Text
    """Name of the definition that it solves."""
    author: str = ""
    spec: Spec
    sources: Annotated[tuple[File, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _entry_is_there(self) -> Solution:
        paths = [file.path for file in self.sources]
        if len(set(paths)) < len(paths):
            twice = next(path for path in paths if paths.count(path) > 1)
            raise ValueError(f"source '{twice}' stands twice; give each file a path of its own")
        if self.spec.entry[0] not in paths:
            raise ValueError(
                f"entry file '{self.spec.entry[0]}' is not among the sources: {', '.join(paths)}"
            )
        return self


def read_solution(path: Path) -> Solution:
    """The solution in a file; UsageError, one line, if it is none."""
    return Solution.parsed(read_text(path, "solution"), str(path))


def is_solution(path: Path) -> bool:
    """Whether a `.json` file holds a solution, by its keys; not so where it cannot be read at all."""
    try:
        content = parse(read_text(path, "kernel file"), str(path))
    except UsageError:
        return False
    return isinstance(content, dict) and {"spec", "definition"} <= content.keys()
