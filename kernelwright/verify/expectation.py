"""What one output of a problem should be, and how far a kernel may be from it.

Made once per draw in the process that holds the reference, and used for every kernel judged on
that draw: the oracle's values, eager's, the element-wise tolerance and the norm-wise limit.

Where only one of oracle and eager is finite, that one is the centre: a kernel may do as either.
Not covered: comparing (`judge`) and where the values come from (`compare`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from kernelwright.verify.bounds import Envelope, element_limit, magnitude_bins, norm_limit, roundoff

SLICES = {"cpu": 1 << 17, "cuda": 1 << 25}
"""Elements looked at at once: on a CPU temporaries of 1 MiB stay in cache; a GPU wants few launches, but some
ten temporaries of 256 MiB are what it can spare beside a problem of gigabytes."""
SAMPLED = 1 << 24
"""Elements of an output, about, that a GPU's envelope is taken over."""

BLUNT = 4.0
"""How much wider limits are where the oracle is no finer than the output: it errs as the kernel does, and
what eager loses in its own order does not show."""


@dataclass(frozen=True)
class Expectation:
    """One output. `oracle`, `eager` and `tolerance` have the output's shape and are contiguous."""

    name: str
    eager: Tensor
    """In the output's own type."""
    oracle: Tensor
    """float64; for integers and booleans in the output's own type."""
    tolerance: Tensor | None
    """The largest distance from the centre (float32 to save room, unless the output is float64);
    None asks for equality."""
    limit: float
    """The largest norm of the error over all elements that are finite on both sides."""
    eager_norm: float
    """Norm of eager's own error."""
    oracle_norm: float
    eager_spurious: int
    """Elements where eager is not finite though the oracle, rounded to the type, is."""

    @cached_property
    def largest(self) -> tuple[float, float]:
        """The largest finite tolerance and the largest finite magnitude of eager; 0 where there is none."""
        return _largest(self.tolerance), _largest(self.eager)


def _largest(tensor: Tensor | None) -> float:
    if tensor is None or tensor.numel() == 0:
        return 0.0
    return float(torch.where(torch.isfinite(tensor), tensor, 0).abs().max())


def expect(name: str, eager: Tensor, oracle: Tensor, spread: Tensor | None, factor: float) -> Expectation:
    """The expectation for one output.

    eager: the reference's output. oracle: float64 of the same shape. spread: root mean square of how
    far the oracle moves under perturbation (`Spread`), of the same shape; None for integers. One of the
    tolerance's own type becomes the tolerance. factor: `c` of the operation counts.
    """
    eager = eager.detach().contiguous()
    if spread is None or not eager.is_floating_point():
        exact = oracle.detach().to(eager.dtype).contiguous()
        return Expectation(name, eager, exact, None, 0.0, 0.0, 0.0, 0)
    if eager.dtype == torch.float64:
        factor *= BLUNT
    oracle = oracle.detach().to(torch.float64).contiguous()
    pieces = _Pieces(eager.view(-1), oracle.view(-1), spread.contiguous().view(-1))
    sums, envelope = _survey(pieces, factor)
    return Expectation(
        name=name,
        eager=eager,
        oracle=oracle,
        tolerance=_tolerances(pieces, envelope.table(), factor).view(eager.shape),
        limit=norm_limit(math.sqrt(sums.error), math.sqrt(sums.floor), factor),
        eager_norm=math.sqrt(sums.error),
        oracle_norm=math.sqrt(sums.oracle),
        eager_spurious=sums.spurious,
    )


@dataclass(frozen=True)
class _Pieces:
    """Slices of one output, so that temporaries stay in cache."""

    eager: Tensor
    oracle: Tensor
    spread: Tensor

    plain: set[int] = field(default_factory=set)
    """Starts of those in which everything is finite."""

    def with_errors(self) -> Iterator[tuple[slice, Tensor, Tensor, Tensor, int]]:
        """Range, centre, eager's error, spread (finite, zero where not both are), spurious elements."""
        largest = torch.finfo(self.eager.dtype).max
        for part in slices(self.eager):
            oracle, spread = self.oracle[part], self.spread[part]
            error = (self.eager[part].double() - oracle).abs_()
            if math.isfinite(float(error.sum())) and max(map(abs, _range(oracle))) <= largest:
                self.plain.add(part.start)
                yield part, oracle, error, spread, 0
                continue
            centre, both, spurious = self._mended(part)
            yield part, centre, torch.where(both, error, 0.0), torch.where(both, spread, 0.0), spurious

    def centres(self) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Range, centre and spread again, after `with_errors`."""
        for part in slices(self.eager):
            if part.start in self.plain:
                yield part, self.oracle[part], self.spread[part]
                continue
            centre, both, _ = self._mended(part)
            yield part, centre, torch.where(both, self.spread[part], 0.0)

    def _mended(self, part: slice) -> tuple[Tensor, Tensor, int]:
        """Centre, finite everywhere; where both are finite; how often only the oracle is."""
        oracle, eager = self.oracle[part], self.eager[part].double()
        truly, given = finite_in(oracle, self.eager.dtype), torch.isfinite(eager)
        centre = torch.where(truly, oracle, eager).nan_to_num_(0.0, 0.0, 0.0)
        return centre, truly & given, int((truly & ~given).sum())


def _range(values: Tensor) -> tuple[float, float]:
    low, high = torch.aminmax(values)
    return float(low), float(high)


@dataclass
class _Sums:
    error: float = 0.0
    floor: float = 0.0
    oracle: float = 0.0
    spurious: int = 0


def _survey(pieces: _Pieces, factor: float) -> tuple[_Sums, Envelope]:
    """Squared norms of eager's error, of `u|o| + D` and of the oracle; eager's error by magnitude.

    Zeros are where a function was cut off. Few of them are near its kink, and in a small output eager may
    have met none: there the movement `c D` of those that do move counts as well.
    """
    sums, envelope = _Sums(), Envelope(device=pieces.oracle.device)
    unit = roundoff(pieces.eager.dtype)
    step = _stride(pieces.eager)
    for _, centre, error, spread, spurious in pieces.with_errors():
        floor = centre.abs().mul_(unit).add_(spread)
        sums.error += float(torch.dot(error, error))
        sums.floor += float(torch.dot(floor, floor))
        sums.oracle += float(torch.dot(centre, centre))
        sums.spurious += spurious
        zero = centre[::step] == 0
        envelope.add(centre[::step], error[::step].clamp(min=factor * (spread[::step] * zero)))
    return sums, envelope


def _stride(flat: Tensor) -> int:
    """Every how many elements the envelope looks: all on a CPU; on a GPU, where the few bins of a
    histogram are a queue, about `SAMPLED`. Odd, so that no power-of-two row length hides columns."""
    return 1 if flat.device.type == "cpu" else (flat.numel() // SAMPLED) | 1


def _tolerances(pieces: _Pieces, table: Tensor, factor: float) -> Tensor:
    """The element-wise limits; slice by slice in the place of the spread, where that has their type."""
    wanted = tolerance_type(pieces.eager.dtype)
    kept = pieces.spread
    if kept.dtype != wanted:
        kept = torch.empty(pieces.eager.shape, dtype=wanted, device=pieces.eager.device)
    for part, centre, spread in pieces.centres():
        limits = element_limit(centre, spread, table[magnitude_bins(centre)], pieces.eager.dtype, factor)
        kept[part] = limits
    return kept


def tolerance_type(dtype: torch.dtype) -> torch.dtype:
    """In what the limits of an output of this type are kept: float32 to save room unless it is float64."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def cut(whole: Expectation, first: int, size: int) -> Expectation:
    """The expectation of a contiguous piece: `size` bytes from byte `first` of the output.

    Judged element by element; the norm-wise limit of the whole output says nothing of a piece.
    """
    item = whole.eager.element_size()
    part = slice(first // item, (first + size) // item)
    return replace(
        whole,
        eager=whole.eager.view(-1)[part],
        oracle=whole.oracle.view(-1)[part],
        tolerance=None if whole.tolerance is None else whole.tolerance.view(-1)[part],
        limit=math.inf,
    )


class Spread:
    """Accumulates how far an oracle's outputs move when its inputs are perturbed."""

    def __init__(self, oracle: Sequence[Tensor]) -> None:
        self._oracle = list(oracle)
        self._scales = [_scale(out) for out in oracle]
        self._squares = [
            torch.zeros(out.shape, dtype=torch.float64, device=out.device)
            if out.is_floating_point()
            else None
            for out in oracle
        ]
        self._draws = 0

    def add(self, moved: Sequence[Tensor], steps: float = 1.0) -> None:
        """Outputs of the oracle on one draw perturbed by so many roundoffs; the movement of one is added.

        Where a difference is not finite it counts as none.
        """
        self._draws += 1
        for squares, other, exact, scale in zip(
            self._squares, moved, self._oracle, self._scales, strict=True
        ):
            if squares is None:
                continue
            flat, near, far = squares.view(-1), exact.reshape(-1), other.reshape(-1)
            for part in slices(flat):
                step = (far[part] - near[part]).mul_(scale / steps)
                flat[part] += step.square_().nan_to_num_(0.0, 0.0, 0.0)

    def result(self) -> list[Tensor | None]:
        """Root mean square of the movement, for each output; None where it is not floating."""
        draws = max(self._draws, 1)
        return [
            None if squares is None else squares.div_(draws).sqrt_().div_(scale)
            for squares, scale in zip(self._squares, self._scales, strict=True)
        ]


def _scale(exact: Tensor) -> float:
    """A power of two that brings the largest magnitude near 1: squares neither vanish nor overflow."""
    if not exact.is_floating_point() or exact.numel() == 0:
        return 1.0
    largest = float(torch.where(torch.isfinite(exact), exact, 0).abs().max())
    return 2.0 ** -max(min(math.frexp(largest)[1], 1000), -1000)


def slices(flat: Tensor) -> Iterator[slice]:
    """Ranges that cover a flat tensor, of a size that suits its device."""
    size = SLICES[flat.device.type]
    return (slice(start, start + size) for start in range(0, flat.numel(), size))


def finite_in(oracle: Tensor, dtype: torch.dtype) -> Tensor:
    """Where the oracle is finite after rounding to `dtype`."""
    return torch.isfinite(oracle.to(dtype))
