"""Forms of calls for `benchmarks.model_calls`: shapes, types, layouts and the state of torch, at random.

call = Call.drawn(kind, (8, 24), random)
call.of(site)       # what it gives, or the name of what it raises
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import nn

from benchmarks.call_sites import Kind
from kernelwright.core.errors import InternalFault, boundary

DTYPES = (torch.float32, torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16)
SCALES = (None, 2.0, 1, True, 0.0, -0.0, float("nan"))


def turned(x: torch.Tensor) -> torch.Tensor:
    """The first dimension and the last but one lie the other way round."""
    return x.transpose(0, -2).contiguous().transpose(0, -2) if x.dim() > 1 else x


def every_other(x: torch.Tensor) -> torch.Tensor:
    """Elements of a tensor twice as wide."""
    return torch.stack([x, x], -1)[..., 0]


def offset(x: torch.Tensor) -> torch.Tensor:
    """Not at the beginning of its memory."""
    return torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "channels last": lambda x: x.to(memory_format=torch.channels_last) if x.dim() == 4 else x,
    "contiguous": lambda x: x,
    "every other": every_other,
    "meta": lambda x: x.to("meta"),
    "negated": lambda x: torch._neg_view(x),
    "offset": offset,
    "one row": lambda x: x[:1].expand(x.shape),
    "turned": turned,
    "turned columns": lambda x: x.mT.contiguous().mT if x.dim() > 1 else x,
    **({"device": lambda x: x.cuda()} if torch.cuda.is_available() else {}),
}
"""Ways in which a tensor lies in memory, and where."""
GRADS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "enabled": torch.enable_grad,
    "inference": torch.inference_mode,
    "no_grad": torch.no_grad,
    "wanted": torch.enable_grad,
}
"""`wanted`: arguments require gradients, too."""


@dataclass(frozen=True)
class Call:
    """One call's arguments, and the state of torch around it."""

    tensors: dict[str, torch.Tensor]
    before: list[torch.Tensor]
    """What these held when they were drawn."""
    others: dict[str, Any]
    named: bool
    """Whether tensors are given by name."""
    layout: str
    grad: str
    autocast: bool

    @classmethod
    def drawn(cls, kind: Kind, shape: tuple[int, ...], random: Random) -> Call:
        """At random; half of them such that a kernel may answer."""
        plain = random.random() < 0.5
        layout = "contiguous" if plain else random.choice(sorted(LAYOUTS))
        dtype = torch.float32 if plain else random.choice(DTYPES)
        grad = "no_grad" if plain or random.random() < 0.5 else random.choice(sorted(GRADS))
        tensors = {name: LAYOUTS[layout](torch.randn(shape).to(dtype)) for name in kind.names}
        if grad == "wanted":
            tensors = {name: each.detach().requires_grad_() for name, each in tensors.items()}
        return cls(
            tensors,
            [each.detach().clone() for each in tensors.values()],
            {"scale": random.choice(SCALES)} if kind.scaled and random.random() < 0.2 else {},
            random.random() < 0.2,
            layout,
            grad,
            not plain and random.random() < 0.1,
        )

    def of(self, module: nn.Module) -> Any:
        """What the module gives, or the name of what it raises."""
        given = () if self.named else tuple(self.tensors.values())
        by_name = {**(self.tensors if self.named else {}), **self.others}
        cast = torch.autocast("cpu", dtype=torch.bfloat16) if self.autocast else nullcontext()
        try:
            with boundary(InternalFault, "it raised"), GRADS[self.grad](), cast:
                return module(*given, **by_name)
        except InternalFault as fault:
            return type(fault.__cause__).__name__

    def touched(self) -> str:
        """Whether an argument is another than it was drawn, in words, or nothing."""
        pairs = zip(self.tensors.values(), self.before, strict=True)
        kept = all(now.is_meta or torch.equal(now.detach(), then) for now, then in pairs)
        return "" if kept else "an argument was changed"

    def words(self) -> str:
        """In one line."""
        shown = [f"{name} {each.dtype}{list(each.shape)}" for name, each in self.tensors.items()]
        shown += [f"{name} {each!r}" for name, each in self.others.items()]
        state = f"{self.layout}, {self.grad}{', autocast' * self.autocast}{', by name' * self.named}"
        return f"{', '.join(shown)} ({state})"
