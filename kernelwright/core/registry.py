"""One way to find variants: built-in names mapped to lazy module paths, plus entry points of others.

    LANGUAGES = Registry("language", {"cpp": "kernelwright.languages.cpp:CppLanguage", ...})
    LANGUAGES.get("cpp")()

Other distributions add variants through the entry-point group `kernelwright.<kind>s`. Nothing is
imported until it is asked for. A built-in name cannot be replaced from outside.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar, cast

from kernelwright.core.errors import EnvironmentFault, UsageError, did_you_mean

T = TypeVar("T")


class Registry(Generic[T]):
    """Names of one kind of variant, in priority order, and how to load each."""

    def __init__(self, kind: str, builtin: dict[str, str]) -> None:
        self.kind = kind
        self._builtin = builtin

    @property
    def group(self) -> str:
        """Entry-point group that other distributions register in."""
        return f"kernelwright.{self.kind}s"

    def names(self) -> list[str]:
        """Built-in names in order, then the outside ones, sorted."""
        outside = sorted(set(self._outside()) - set(self._builtin))
        return [*self._builtin, *outside]

    def get(self, name: str) -> T:
        """The variant called `name`; UsageError lists what is allowed."""
        path = self._builtin.get(name)
        if path is not None:
            module, _, attribute = path.partition(":")
            return cast(T, getattr(import_module(module), attribute))
        outside = self._outside()
        if name not in outside:
            raise UsageError(f"unknown {self.kind} '{name}'; {did_you_mean(name, self.names())}")
        try:
            return cast(T, outside[name].load())
        except ImportError as error:
            raise EnvironmentFault(
                f"{self.kind} '{name}' is registered by {outside[name].value} but cannot be imported: {error}"
            ) from error

    def _outside(self) -> dict[str, Any]:
        return {point.name: point for point in entry_points(group=self.group)}
