"""`Installation`: `model.kernelwright`, what was put into a model and the ways back.

print(model.kernelwright.status())
model.kernelwright.shadow(0.01)         # compare on one call of a hundred
model = model.kernelwright.undo()       # bit-identical to what was given
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from kernelwright.core.errors import UsageError
from kernelwright.integrate.guard import Guard

ATTRIBUTE = "kernelwright"
SHOWN = 4
"""Parts of a kind that the status names."""


@dataclass(frozen=True)
class SiteState:
    """One site, now."""

    name: str
    trial: str
    """Of the kernel, for `kernelwright show`."""
    speedup: float
    """Of the site alone over eager, as its search measured it."""
    served: int
    passed_on: Mapping[str, int]
    """Calls that the original answered, by reason."""
    shadowed: int
    retreat: str
    """Why the kernel was taken out, or nothing."""


@dataclass
class Installation:
    """The guards of one model."""

    model: nn.Module
    guards: dict[str, Guard] = field(default_factory=dict)
    """By the site's name."""
    found: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Trial and speed-up over eager, by the site's name."""
    left: dict[str, str] = field(default_factory=dict)
    """Parts that stayed as they are, with the reason."""
    report: dict[str, Any] = field(default_factory=dict)
    """What was searched and measured, for machines."""

    def put_in(self) -> None:
        """Stand in the sites, and in the model as `model.kernelwright`."""
        for guard in self.guards.values():
            guard.put_in()
        vars(self.model)[ATTRIBUTE] = self

    def sites(self) -> list[SiteState]:
        """State of each site."""
        return [self._state(name, guard) for name, guard in self.guards.items()]

    def status(self) -> str:
        """A table of the sites, and what the whole gained."""
        lines = [str(self.report.get("conclusion", ""))]
        for site in self.sites():
            passed = sum(site.passed_on.values())
            lines.append(
                f"  {site.name or '(the model)'}: {site.speedup:.2f}x over eager alone, "
                f"answered {site.served} calls, passed on {passed}"
                + (f"; withdrawn: {site.retreat}" if site.retreat else "")
            )
            lines += [f"    {count} passed on: {why}" for why, count in site.passed_on.items()]
        return "\n".join([*lines, *(f"  {line}" for line in reasons(self.left))])

    def shadow(self, share: float) -> None:
        """Have originals run too on this share of calls (0 to 1), and compare."""
        if not 0.0 <= share <= 1.0:
            raise UsageError(f"a share of {share!r} is given; give a number from 0 (never) to 1 (every call)")
        for guard in self.guards.values():
            guard.shadow(share)

    def undo(self) -> nn.Module:
        """The model as it was given."""
        for guard in self.guards.values():
            guard.take_out()
            guard.kernel.release()
        vars(self.model).pop(ATTRIBUTE, None)
        return self.model

    @contextmanager
    def removed(self) -> Iterator[None]:
        """Without guards, for a while."""
        for guard in self.guards.values():
            guard.take_out()
        try:
            yield
        finally:
            for guard in self.guards.values():
                guard.put_in()

    def _state(self, name: str, guard: Guard) -> SiteState:
        trial, speedup = self.found[name]
        kernel = guard.kernel
        return SiteState(
            name, trial, speedup, kernel.served, dict(kernel.passed_on), guard.shadowed, guard.retreat
        )


def reasons(left: Mapping[str, str]) -> list[str]:
    """A line for each reason why parts are left alone, with the first of their names."""
    by_reason: dict[str, list[str]] = {}
    for name, why in left.items():
        by_reason.setdefault(why, []).append(name or "(the model)")
    return [
        f"left alone, {why}: {', '.join(names[:SHOWN])}"
        + (f" and {len(names) - SHOWN} others" if len(names) > SHOWN else "")
        for why, names in by_reason.items()
    ]
