"""Small models with parts that kernels can answer for, and kernels for these parts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import nn

from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.execute.fit import fitted
from kernelwright.integrate.guard import Guard
from kernelwright.integrate.installation import Installation
from kernelwright.languages import build
from kernelwright.problems import load_problem
from kernelwright.search.campaign import open_proposals

CPU = Target.parse("cpu")
WIDTH, ROWS = 96, 64


class RootMeanSquare(nn.Module):
    """A norm as models write it, in several operations."""

    def __init__(self, width: int = WIDTH, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(1 + torch.randn(width) / 10)
        self.eps = eps

    def forward(self, x: torch.Tensor, scale: float | None = None) -> torch.Tensor:
        """The norm along the last dimension; with `scale`, times it."""
        normed = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
        return normed if scale is None else normed * scale


class Gated(nn.Module):
    """Two halves of a projection, one of which gates the other."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Half as wide as `x`."""
        gate, up = x.chunk(2, -1)
        return torch.nn.functional.silu(gate) * up


class Block(nn.Module):
    """Norm, projection, gate, projection, and the input again."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.norm = RootMeanSquare(width)
        self.up = nn.Linear(width, 2 * width)
        self.gate = Gated()
        self.down = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As wide as `x`."""
        return x + self.down(self.gate(self.up(self.norm(x))))


class Small(nn.Module):
    """Two blocks and a last norm."""

    def __init__(self, width: int = WIDTH) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(width), Block(width)])
        self.last = RootMeanSquare(width)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """Hidden values, and which of them is the largest."""
        for block in self.blocks:
            x = block(x)
        x = self.last(x)
        return {"hidden": x, "largest": x.argmax(-1)}


def small(seed: int = 0) -> Small:
    """A model in eval mode, the same for each seed."""
    torch.manual_seed(seed)
    return Small().eval()


@lru_cache
def norm_kernel() -> tuple[Kernel, Build, Problem]:
    """The default template kernel of the norm, for any number of rows."""
    torch.manual_seed(0)
    problem = load_problem(RootMeanSquare().eval(), (torch.randn(ROWS, WIDTH),))
    proposals = open_proposals(problem, CPU)
    kernel = proposals.kernel(proposals.space.default())
    made = build(kernel, CPU)
    assert made.status == "built", made.log
    return kernel, made, problem


def installed(model: Small) -> Installation:
    """Guards in all three norms of a model."""
    kernel, made, problem = norm_kernel()
    names = ["blocks.0.norm", "blocks.1.norm", "last"]
    guards = {
        name: Guard(site, fitted(site, kernel, made, problem))
        for name in names
        if isinstance(site := model.get_submodule(name), nn.Module)
    }
    found = Installation(model, guards, dict.fromkeys(names, ("t-0", 1.5)))
    found.put_in()
    for guard in guards.values():
        guard.count_anew()
    return found


def served(found: Installation) -> int:
    """Calls that kernels answered."""
    return sum(site.served for site in found.sites())


def hidden(model: Any, x: torch.Tensor) -> torch.Tensor:
    """What a model gives, without gradients."""
    with torch.no_grad():
        result: torch.Tensor = model(x)["hidden"]
        return result
