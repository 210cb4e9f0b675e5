"""Parts for `benchmarks.model_calls`: one of each kind that models have, and what may be done to one in life.

kind = KINDS["norm"]; site = kind.make(); kind.shape(random)
CHANGES["weights scaled"](site)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, CHANNELS = 24, 6


class Norm(nn.Module):
    """A root-mean-square norm, in several operations."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(1 + torch.randn(WIDTH) / 10)
        self.eps = 1e-5

    def forward(self, x: torch.Tensor, scale: Any = None) -> torch.Tensor:
        """Along the last dimension; with `scale`, times it."""
        normed = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
        return normed if scale is None else normed * scale


class Masked(nn.Module):
    """Scale, mask and soft maximum."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Along the last dimension."""
        return torch.softmax(x * 0.3 + mask, -1)


class Gate(nn.Module):
    """One half gates the other."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Half as wide."""
        gate, up = x.chunk(2, -1)
        return F.silu(gate) * up


class Pair(nn.Module):
    """Several results, one of which is no tensor."""

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        """A soft maximum, the sum and a name."""
        return {"soft": torch.softmax(x, -1), "sums": (x * x).sum(-1), "name": "pair"}


@dataclass(frozen=True)
class Kind:
    """How a part is made, and what it is called with."""

    make: Callable[[], nn.Module]
    last: int
    """Size of the last dimension, or of the second of images."""
    names: tuple[str, ...] = ("x",)
    """Of its tensors."""
    images: bool = False
    scaled: bool = False
    """Whether it takes a number `scale` too."""

    def shape(self, random: Random) -> tuple[int, ...]:
        """A small one; seldom empty, seldom of another width."""
        last = self.last if random.random() < 0.97 else random.choice((1, 2 * self.last))
        if self.images and random.random() < 0.95:
            return (random.randint(1, 3), last, random.randint(1, 5), random.randint(1, 5))
        rows = [random.choice((0, 1, 2, 3, 5, 8, 70)) for _ in range(random.choice((1, 1, 1, 2, 3)))]
        return (*rows, last) if random.random() < 0.97 else (last,)

    def example(self) -> tuple[torch.Tensor, ...]:
        """Arguments that its problem is made of."""
        shape = (2, self.last, 4, 4) if self.images else (8, self.last)
        return tuple(torch.randn(shape) for _ in self.names)


def normalized() -> nn.Module:
    """A batch norm whose statistics are not those of a new one."""
    made = nn.BatchNorm2d(CHANNELS)
    nn.init.uniform_(made.running_var, 0.5, 2.0)
    nn.init.normal_(made.running_mean)
    return made


KINDS = {
    "norm": Kind(Norm, WIDTH, scaled=True),
    "masked": Kind(Masked, WIDTH, ("x", "mask")),
    "gate": Kind(Gate, WIDTH),
    "pair": Kind(Pair, WIDTH),
    "batch norm": Kind(normalized, CHANNELS, ("input",), images=True),
}


def scaled(site: nn.Module) -> None:
    """In place, as an optimizer does it."""
    with torch.no_grad():
        for each in site.parameters():
            each.mul_(1.25)


def replaced(site: nn.Module) -> None:
    """By other parameters of the same sizes."""
    for name, each in list(site.named_parameters()):
        setattr(site, name, nn.Parameter(each.detach() * 0.5, each.requires_grad))


def other_epsilon(site: Any) -> None:
    """A constant that the kernel has built in."""
    if hasattr(site, "eps"):
        site.eps = 0.5


def hooked(site: nn.Module) -> None:
    """Somebody looks at results, and doubles them."""
    site.register_forward_hook(lambda module, args, result: _doubled(result))


def _doubled(result: Any) -> Any:
    return result * 2 if isinstance(result, torch.Tensor) else {**result, "soft": result["soft"] * 2}


def loaded(site: nn.Module) -> None:
    """From a checkpoint."""
    site.load_state_dict({name: each * 1.5 for name, each in site.state_dict().items()})


CHANGES: dict[str, Callable[[nn.Module], object]] = {
    "frozen": lambda site: site.requires_grad_(False),
    "hooked": hooked,
    "in bfloat16": lambda site: site.to(torch.bfloat16),
    "in float64": lambda site: site.double(),
    "loaded": loaded,
    "other epsilon": other_epsilon,
    "replaced": replaced,
    "scaled": scaled,
    "training": lambda site: site.train(),
    "trained": lambda site: site.eval(),
}
"""What is done to a part between two calls."""
