"""Shared by the tests of rewriting: graphs of functions, rules applied to them, and both forms compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from hypothesis import Phase, settings
from propose_cases import traced
from torch import Tensor, fx

from kernelwright.graph.capture import Captured, Placeholder
from kernelwright.graph.rewrites.base import Draft, Rule
from kernelwright.graph.rewrites.engine import settled

Function = Callable[..., Any]
few = settings(max_examples=25, deadline=None, phases=(Phase.explicit, Phase.generate))


def graph_of(function: Function, args: Sequence[Tensor], inputs: int | None = None) -> Captured:
    """The graph of a function; arguments from number `inputs` on are weights."""
    captured = traced(function, args)
    captured.graph_module.graph.eliminate_dead_code()
    count = len(args) if inputs is None else inputs
    kinds = {
        name: held if held.index < count else Placeholder("weight", name=held.name)
        for name, held in captured.placeholders.items()
    }
    return replace(captured, placeholders=kinds)


def apply(rules: Sequence[Rule], captured: Captured) -> tuple[Captured, list[str]]:
    """The graph with these rules applied wherever they match, and the names of those that did."""
    draft = Draft(captured)
    names = settled(draft, rules, draft.operations())
    draft.graph.lint()
    return draft.captured(), names


def results(captured: Captured, args: Sequence[Tensor]) -> list[Tensor]:
    """What a graph gives on these arguments."""
    found = fx.Interpreter(captured.graph_module).run(*args)
    return list(found) if isinstance(found, tuple | list) else [found]


def same(one: Captured, other: Captured, args: Sequence[Tensor]) -> None:
    """Both forms agree in float64 to roundoff; the metadata of the second says what it computes."""
    assert all(value.dtype in (torch.float64, torch.int64, torch.bool) for value in args)
    for node in other.nodes:
        assert isinstance(node.meta["val"], Tensor | tuple | list)
    for node, want, found in zip(other.outputs, results(one, args), results(other, args), strict=True):
        assert node.meta["val"].shape == found.shape == want.shape
        scale = want[want.isfinite()].abs().max().item() if want.isfinite().any() else 1.0
        torch.testing.assert_close(found, want, rtol=1e-10, atol=1e-10 * scale, equal_nan=True)


def check(rules: Sequence[Rule], function: Function, args: Sequence[Tensor], **more: Any) -> list[str]:
    """Names of the rules that matched, after both forms were compared."""
    captured = graph_of(function, args, **more)
    form, names = apply(rules, captured)
    same(captured, form, args)
    return names


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Normal numbers in float64."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def wild(*shape: int, seed: int = 0, share: float = 0.05) -> Tensor:
    """The same with NaN and infinities of both signs here and there."""
    x = drawn(*shape, seed=seed)
    generator = torch.Generator().manual_seed(seed + 1)
    which = torch.randint(0, 3, shape, generator=generator)
    odd = torch.tensor([float("nan"), float("inf"), -float("inf")], dtype=torch.float64)[which]
    return torch.where(torch.rand(*shape, generator=generator) < share, odd, x)
