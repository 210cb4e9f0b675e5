"""Where outputs moved when inputs changed, and whether an answer belongs to the new inputs.

An element that moved is told apart from an old one without an oracle: a right answer lies within a quarter of
the movement of eager's, an old one the whole movement away. Of contents that are new altogether it
must also be within a few of the largest tolerances that the draw before had.
"""

from __future__ import annotations

import secrets

import torch
from torch import Tensor

from kernelwright.execute.reports import Position
from kernelwright.verify.expectation import Expectation, slices

FAR = 8.0
"""How many tolerances an element has to move to count as moved."""
NEAR, OLD = 4.0, 0.25
"""A right answer lies within so many tolerances plus this share of the movement of eager's."""
LOOKED_AT = 4096
"""Changed elements, at most, of which it is found out how far they moved."""


def moved(was: Expectation, new: Tensor, *, anew: bool) -> Tensor:
    """Places, some of them where there are many, at which the output is far from what it was.

    Where all contents are new, nearly every place moved: a look at some of them finds enough.
    """
    old = was.eager.view(-1)
    if anew and old.numel() > LOOKED_AT:
        places = torch.randint(old.numel(), (LOOKED_AT,), device=old.device)
        places = places[new[places] != old[places]]
    else:
        places = (new != old).nonzero().view(-1)
    if places.numel() > LOOKED_AT:
        places = places[torch.randint(places.numel(), (LOOKED_AT,), device=places.device)]
    if was.tolerance is None:
        return places
    distance = (new[places].double() - old[places].double()).abs_()
    return places[(distance > FAR * was.tolerance.view(-1)[places]) & torch.isfinite(distance)]


def drawn(places: Tensor, count: int) -> list[int]:
    """`count` of these at random, or none where there are none."""
    if places.numel() == 0:
        return []
    return [int(places[secrets.randbelow(places.numel())]) for _ in range(count)]


def around(number: int, place: int, output: Expectation, nbytes: int) -> Position:
    """Whole elements of output `number` that hold the place, begun at one before it."""
    item, total = output.eager.element_size(), output.eager.numel()
    size = min(max(nbytes // item, 1), total)
    first = min(max(place - secrets.randbelow(size), 0), total - size)
    return number, first * item, size * item


def far(data: Tensor, now: Tensor, was: Expectation, largest: tuple[float, float] | None) -> int:
    """How many elements are neither near eager's nor as little finite; slice by slice, as in `judge`.

    `now` is eager's on the new contents, `was` what was expected of the old ones, `largest` the largest
    tolerance and magnitude there, where all contents are new.
    """
    eager = was.eager.view(-1)
    if was.tolerance is None:
        return int((data != now).sum())
    tolerance, count = was.tolerance.view(-1), 0
    for part in slices(data):
        near = _near(data[part], now[part], eager[part], tolerance[part], largest)
        count += int((~near).sum())
    return count


def _near(
    data: Tensor, now: Tensor, was: Tensor, tolerance: Tensor, largest: tuple[float, float] | None
) -> Tensor:
    """Which elements are near eager's, or as little finite."""
    given, new, old = data.double(), now.double(), was.double()
    limit = NEAR * tolerance.double() + OLD * (new - old).abs()
    if largest is not None:
        most, magnitude = largest
        grown = (new.abs() / max(magnitude, 1e-300)).clamp(min=1)  # a new value may be larger than any before
        limit = torch.minimum(limit, NEAR * most * grown)
    alike = (given == new) | (torch.isnan(given) & torch.isnan(new))
    near = (given - new).abs() <= limit
    return alike | near | ~torch.isfinite(limit)
