"""Which parts of a model are worth a search, and which of them are the same.

    groups, left = choose(parts, gbs=ceiling)

Of parts that contain each other one is taken: the inner ones, unless the outer one has clearly more to gain,
because what is fused need not be written in between. Parts are one group where nothing but their weights'
values differs: the group's first is searched, the others are compared with it when its kernel is put in
(`execute.fit`).

The gain is an estimate that orders searches and shares out their time: a part's time that is not a library's,
less one pass over its arguments and results at the machine's ceiling. Not covered: whether templates serve a
part; whoever loads its problem finds out, and asks again without it (`without`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from torch import nn

from kernelwright.execute.likeness import likeness
from kernelwright.graph.capture import module_tensors
from kernelwright.integrate.survey import LIBRARY, Part

LEAST_SHARE = 0.01
"""Of the model's time: what a group must be able to give back to be searched."""
MOST_PARTS = 12
"""Submodules that a site may hold: beyond, a search sees too many places at once."""


WORTH = 1.1
"""How many times as much time of its own as the parts inside it a part must have to be taken for them."""


@dataclass(frozen=True)
class Group:
    """Sites that one search serves."""

    parts: tuple[Part, ...]
    gain_s: float
    """Per batch, all sites together."""

    @property
    def name(self) -> str:
        """The first site's name, and how many there are like it."""
        first = self.parts[0].name or type(self.parts[0].module).__name__
        return first if len(self.parts) == 1 else f"{first} (and {len(self.parts) - 1} like it)"


def choose(
    parts: Sequence[Part],
    gbs: float,
    without: Mapping[str, str] | None = None,
    least_share: float = LEAST_SHARE,
) -> tuple[list[Group], dict[str, str]]:
    """Groups, the largest gain first, and why other parts that cost time are left, by name.

    `gbs` is the rate of copying in GB/s. `without` are parts that cannot be taken, with the reason. Groups
    that can give back less than `least_share` of the model's time are left.
    """
    whole = max((part.seconds for part in parts), default=0.0)
    left = dict(without or {})
    left |= {part.name: why for part in parts if part.name not in left and (why := _unfit(part))}
    kinds: dict[Hashable, list[Part]] = {}
    for part in parts:
        if part.name not in left:
            kinds.setdefault(_kind(part), []).append(part)
    own, gains = dict[str, float](), dict[str, float]()
    for same in kinds.values():  # equal parts are taken or left together, whatever the clock says of each
        most = sum(max(_own(part) - part.nbytes / (gbs * 1e9), 0.0) for part in same)
        if most < least_share * whole:
            left |= {part.name: f"less than {least_share:.0%} of the time is to be won" for part in same}
            continue
        own |= {part.name: sum(map(_own, same)) / len(same) for part in same}
        gains |= {part.name: most / len(same) for part in same}
    taken = _apart(own)
    left |= {name: _instead(name, taken) for name in own if name not in taken}
    groups = [
        Group(tuple(sites), sum(gains[part.name] for part in sites))
        for same in kinds.values()
        if (sites := [part for part in same if part.name in taken])
    ]
    return sorted(groups, key=lambda group: -group.gain_s), left


def _own(part: Part) -> float:
    """Seconds per batch that are not a library's."""
    return max(part.seconds - part.library_s, 0.0)


def _unfit(part: Part) -> str:
    """Why a part cannot be a site, or nothing."""
    if isinstance(part.module, LIBRARY):
        return "its work is a library's"
    if sum(1 for _ in part.module.modules()) > MOST_PARTS:
        return f"it has more than {MOST_PARTS} parts"
    if "forward" in vars(part.module):
        return "its forward was replaced by another tool"
    return "" if "torch." in " ".join(part.forms) else "it is given no tensor"


def _apart(own: Mapping[str, float]) -> set[str]:
    """Names of which none is inside another, from the inside out: a part is taken in place of those in it
    where `WORTH` times as much of its time is its own as theirs is together."""
    taken: set[str] = set()
    for name in sorted(own, key=_depth, reverse=True):
        inside = {other for other in taken if not name or other.startswith(f"{name}.")}
        if not inside or own[name] > WORTH * sum(own[other] for other in inside):
            taken = (taken - inside) | {name}
    return taken


def _instead(name: str, taken: set[str]) -> str:
    inside = not name or any(other.startswith(f"{name}.") for other in taken)
    return "parts inside it are taken" if inside else "a part that holds it is taken"


def _depth(name: str) -> int:
    return name.count(".") + bool(name)


def _kind(part: Part) -> Hashable:
    """Equal for parts that compute the same on arguments of the same form, as far as attributes tell."""
    weights = tuple(
        (name, tensor.dtype, tuple(tensor.shape)) for name, tensor in module_tensors(part.module).items()
    )
    return (likeness(part.module), weights, tuple(sorted(part.forms)), _sources(part.module))


def _sources(module: nn.Module) -> tuple[type, ...]:
    return tuple(type(inner) for inner in module.modules())
