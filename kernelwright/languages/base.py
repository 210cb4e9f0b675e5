"""The contract of a language, the list of languages, and `build` through the cache.

A new language is one module with a `Language` in it and one line in `LANGUAGES`. It says what a
build depends on (`content`, `tool`) and how to make one in an empty folder (`compile`); caching,
timing and the difference between a bad kernel and a lacking machine are settled here.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from kernelwright.core.errors import EnvironmentFault, UsageError
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.registry import Registry
from kernelwright.core.target import Target, TargetName
from kernelwright.core.wire import content_hash
from kernelwright.languages import cache

BUILD_FORMAT = 1
"""Part of every key: raised when the same inputs should be compiled again."""


class Refused(Exception):
    """The kernel cannot be built as it stands. The text becomes the log of a failed build."""


@dataclass(frozen=True)
class Compiled:
    """What `Language.compile` made."""

    artifact: Path | None
    """A file in the folder it was given; `None` where the compiler refused."""
    log: str
    resources: dict[str, dict[str, int]] = field(default_factory=dict)
    lasting: bool = True
    """False where the outcome may differ next time (a time limit): such a build is not cached."""


class Language(ABC):
    """One way to turn sources into something that can be loaded."""

    name: ClassVar[str]
    targets: ClassVar[frozenset[TargetName]]

    def unavailable(self, target: Target) -> str | None:
        """Why this language cannot build for `target` on this machine; None if it can."""
        if target.name not in self.targets:
            served = " or ".join(sorted(self.targets))
            return f"language '{self.name}' builds for {served}, not for {target.name}"
        return self.missing(target)

    @abstractmethod
    def missing(self, target: Target) -> str | None:
        """What this machine lacks, and the next step; None if nothing."""

    @abstractmethod
    def tool(self, target: Target) -> str:
        """Compiler and version, and whatever of the machine the output depends on."""

    @abstractmethod
    def compile(self, kernel: Kernel, target: Target, folder: Path) -> Compiled:
        """Compile in the empty `folder`. Raises `Refused` for what is not even given to a compiler."""

    def content(self, kernel: Kernel, target: Target) -> dict[str, Any]:
        """All of the kernel that the output depends on, as JSON."""
        return {
            "sources": [source.model_dump() for source in kernel.sources],
            "options": list(kernel.options),
        }

    def key(self, kernel: Kernel, target: Target) -> str:
        """Name of the build in the cache: content, options, target, tool versions. 32 hex digits."""
        return content_hash({
            "format": BUILD_FORMAT,
            "language": self.name,
            "arch": target.arch,
            "tool": self.tool(target),
            "content": self.content(kernel, target),
        })  # fmt: skip

    def build(self, kernel: Kernel, target: Target) -> Build:
        """The build of `kernel`, from the cache where it is there.

        Raises UsageError for a target that the language does not serve, EnvironmentFault for a
        missing compiler or a cache that cannot be written.
        """
        self._require(target)
        try:
            key = self.key(kernel, target)
        except Refused as refusal:
            return _failed(kernel, target, str(refusal))
        found = cache.load(key)
        if found is None:
            found = self._compile_into(key, kernel, target)
        return found.model_copy(update={"kernel": kernel.hash, "target": target})

    def _require(self, target: Target) -> None:
        if target.name not in self.targets:
            raise UsageError(
                f"{self.unavailable(target)}; give another --target or a kernel in another language"
            )
        reason = self.missing(target)
        if reason:
            raise EnvironmentFault(reason)

    def _compile_into(self, key: str, kernel: Kernel, target: Target) -> Build:
        with cache.workspace() as folder:
            start = time.perf_counter()
            try:
                made = self.compile(kernel, target, folder)
            except Refused as refusal:
                made = Compiled(None, str(refusal), lasting=False)
            build = Build(
                kernel=kernel.hash,
                target=target,
                status="built" if made.artifact else "failed",
                log=made.log,
                seconds=time.perf_counter() - start,
                tool=self.tool(target),
                resources=made.resources,
            )
            return cache.store(key, build, made.artifact) if made.lasting else build


def _failed(kernel: Kernel, target: Target, log: str) -> Build:
    return Build(kernel=kernel.hash, target=target, status="failed", log=log)


LANGUAGES: Registry[type[Language]] = Registry(
    "language",
    {
        "cpp": "kernelwright.languages.cpp:CppLanguage",
        "cuda": "kernelwright.languages.cuda:CudaLanguage",
        "triton": "kernelwright.languages.triton:TritonLanguage",
        "python": "kernelwright.languages.python:PythonLanguage",
    },
)


def build(kernel: Kernel, target: Target) -> Build:
    """The build of `kernel` for `target`, through the disk cache. See `Language.build`."""
    return LANGUAGES.get(kernel.language)().build(kernel, target)
