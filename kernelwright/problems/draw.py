"""How inputs are drawn: as the source draws them, or from a named distribution.

A named draw replaces floating-point tensors; integers, booleans and Python numbers are always the
source's own, because they are indices, masks and sizes. Everything is drawn on the device where it
is used, and is the same for the same seed on the same kind of device. Distributions are written
for any element type: magnitudes are set by its range.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

Draw = Callable[[torch.Tensor, torch.Generator], None]
"""Fills a contiguous floating-point tensor in place."""

_HUGE = {torch.float64: 1e100, torch.float32: 1e15, torch.bfloat16: 1e15, torch.float16: 1e3}
_TINY = {torch.float64: 1e-200, torch.float32: 1e-30, torch.bfloat16: 1e-30, torch.float16: 1e-6}
_OFFSET = {torch.float64: 1e6, torch.float32: 1e3, torch.bfloat16: 1e2, torch.float16: 1e2}
_SPREAD = {torch.float64: 4.0, torch.float32: 2.0, torch.bfloat16: 2.0, torch.float16: 1.0}
_NONFINITE_EVERY = 4096
_KIND_RUN = 7
"""Neighbouring places that would get the same value; a prime, so that rows and columns get all three."""


def fill(tensor: torch.Tensor, name: str, seed: int) -> None:
    """Fill a floating-point tensor of any layout from the distribution `name`; KeyError if there is none."""
    generator = torch.Generator(device=tensor.device).manual_seed(seed)
    if tensor.is_contiguous():
        DRAWS[name](tensor, generator)
        return
    drawn = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    DRAWS[name](drawn, generator)
    tensor.copy_(drawn)


def _signed(x: torch.Tensor, generator: torch.Generator) -> None:
    x.normal_(generator=generator)


def _negative(x: torch.Tensor, generator: torch.Generator) -> None:
    x.normal_(generator=generator).abs_().neg_()


def _heavy_tailed(x: torch.Tensor, generator: torch.Generator) -> None:
    """Normal numbers whose scale is log-normal: most are small, a few are thousands."""
    x.normal_(generator=generator)
    scale = torch.empty_like(x).normal_(generator=generator)
    x.mul_(scale.mul_(_SPREAD.get(x.dtype, 1.0)).exp_())


def _constant(x: torch.Tensor, generator: torch.Generator) -> None:
    """One value for all elements; another for each tensor and seed."""
    value = torch.empty((), dtype=x.dtype, device=x.device).normal_(generator=generator)
    x.copy_(value.expand_as(x))


def _huge(x: torch.Tensor, generator: torch.Generator) -> None:
    """Near the largest numbers whose square is still finite in the type."""
    x.normal_(generator=generator).mul_(_HUGE.get(x.dtype, 1.0))


def _tiny(x: torch.Tensor, generator: torch.Generator) -> None:
    """So small that squares vanish in the type."""
    x.normal_(generator=generator).mul_(_TINY.get(x.dtype, 1.0))


def _nonfinite(x: torch.Tensor, generator: torch.Generator) -> None:
    """Normal numbers with NaN, +inf and -inf here and there, one in some thousands."""
    x.normal_(generator=generator)
    flat = x.view(-1)
    if flat.numel() == 0:
        return
    count = max(3, flat.numel() // _NONFINITE_EVERY)
    where = torch.randint(flat.numel(), (count,), generator=generator, device=x.device)
    kinds = torch.tensor([float("nan"), float("inf"), float("-inf")], dtype=x.dtype, device=x.device)
    # By place: a place that was drawn twice is written twice, on a GPU in any order.
    flat[where] = kinds[where // _KIND_RUN % 3]


def _offset(x: torch.Tensor, generator: torch.Generator) -> None:
    """A spread of 1 around a large mean: a naive variance loses its digits."""
    x.normal_(generator=generator).add_(_OFFSET.get(x.dtype, 1.0))


def _ill_conditioned(x: torch.Tensor, generator: torch.Generator) -> None:
    """Pairs of neighbours that cancel but for a small rest, over some orders of magnitude."""
    _heavy_tailed(x, generator)
    flat = x.view(-1)
    pairs = flat[: flat.numel() // 2 * 2].view(-1, 2)
    rest = torch.empty_like(pairs[:, 0]).normal_(generator=generator).mul_(1e-3)
    pairs[:, 1] = rest.sub_(pairs[:, 0])


DRAWS: dict[str, Draw] = {
    "signed": _signed,
    "negative": _negative,
    "heavy_tailed": _heavy_tailed,
    "constant": _constant,
    "huge": _huge,
    "tiny": _tiny,
    "nonfinite": _nonfinite,
    "offset": _offset,
    "ill_conditioned": _ill_conditioned,
}
"""Every named distribution. `file` is not one: it is the source's own draw."""
