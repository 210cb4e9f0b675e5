"""Findings that make a task weak: an answer that does not depend on the question.

Two kinds of evidence. From the graph: no path from an input to any output. From draws: the outputs
are one value, or the same for two draws, or the same when one input alone is drawn again, or, in
float64, differ by less than eager's own error; or the inputs themselves are the same for two draws, so that
nothing is known of others. Values count as the same within a millionth, so that an answer which is
constant but for rounding is found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import fx
from torch.utils import _pytree as pytree

from kernelwright.graph.capture import Captured, capture
from kernelwright.graph.oracle import oracle
from kernelwright.problems.reference import Reference

_SAME = 1e-6
_MOST_INPUTS = 4
FIXED = (
    "the inputs are the same numbers each time they are made (a fixed seed, or constants?); "
    "give a function that makes new ones at each call, without torch.manual_seed"
)
_GLANCE = 1 << 16
"""Elements that are compared first: most tensors that differ do so there."""


def unread_inputs(captured: Captured) -> Iterator[str]:
    """A sentence for each tensor input that no output and no mutation depends on."""
    results = [*captured.outputs, *captured.mutations.values()]
    waiting = [value for value in results if isinstance(value, fx.Node)]
    reached = set(waiting)
    while waiting:
        fresh = [node for node in waiting.pop().all_input_nodes if node not in reached]
        reached.update(fresh)
        waiting += fresh
    for node in captured.graph_module.graph.nodes:
        known = captured.placeholders.get(node.name)
        if known is not None and known.kind == "input" and node not in reached:
            yield f"no output depends on input '{known.name}'"


def weak_answers(reference: Reference) -> Iterator[str]:
    """Sentences from drawing inputs: constant outputs, and inputs that do not matter."""
    first_args, second_args = reference.draw(1), reference.draw(2)
    first = _run(reference, first_args)
    second = _run(reference, second_args)
    names = [spec.name for spec in reference.problem.outputs]
    outputs = list(zip(names, first, second, strict=False))
    fixed = drawn_alike(reference)
    if fixed:
        yield FIXED
    for name, a, b in outputs:
        if a.numel() > 1 and _one_value(a) and _one_value(b):
            yield f"every element of output '{name}' has the same value"
        elif _same(a, b) and not fixed:
            yield f"output '{name}' is the same for two draws of the inputs"
    if reference.problem.random == "none" and "not_captured" not in reference.problem.notes:
        yield from only_rounding(reference)
    if not all(_same(a, b) for _, a, b in outputs):
        yield from _inputs_that_do_not_matter(reference, first)


def drawn_alike(reference: Reference) -> bool:
    """Whether two draws of the inputs hold the same numbers, bit for bit."""
    first, second = (reference.inputs(reference.draw(seed)) for seed in (1, 2))
    return any(x.numel() for x in first.values()) and all(
        x.equal(y) for x, y in zip(first.values(), second.values(), strict=True)
    )


def only_rounding(reference: Reference) -> Iterator[str]:
    """Sentences for outputs that, in float64, differ between draws by less than eager's own error.

    A mean over a normalized tensor is one: what is returned is the rounding error of a constant.
    """
    draws = [reference.draw(1), reference.draw(2)]
    weights = {name: tensor.clone() for name, tensor in reference.weights().items()}
    wide = oracle(capture(reference.module, draws[0]))
    found = _run(reference, draws[0])
    first, second = wide(draws[0], weights), wide(draws[1], weights)
    names = [spec.name for spec in reference.problem.outputs]
    for name, eager, a, b in zip(names, found, first, second, strict=False):
        if a.is_floating_point() and a.numel() and bool(a.isfinite().all()):
            error, signal = (eager - a).abs().max(), max((a - b).abs().max(), (a - a.mean()).abs().max())
            if signal < error:
                yield f"output '{name}' holds nothing but rounding error"


def repeats(reference: Reference) -> bool:
    """Whether the reference gives the same outputs again from the same generator state, for the same inputs:
    drawn again, since it may change them in place."""
    first, second = (_run(reference, reference.draw(3)) for _ in range(2))
    return all(_same(a, b) for a, b in zip(first, second, strict=True))


def written_by_running(reference: Reference) -> tuple[str, ...]:
    """Names of weights and inputs that hold other values after a run, sorted: for graphs not captured."""
    args = reference.draw(4)
    state = {**reference.inputs(args), **reference.weights()}
    before = {name: tensor.clone() for name, tensor in state.items()}
    reference.forward(args, seed=5)
    return tuple(sorted(name for name, tensor in state.items() if not torch.equal(tensor, before[name])))


def _inputs_that_do_not_matter(reference: Reference, first: Sequence[torch.Tensor]) -> Iterator[str]:
    names = [spec.name for spec in reference.problem.inputs]
    if not 1 < len(names) <= _MOST_INPUTS:
        return
    for number, name in enumerate(names):
        leaves, structure = pytree.tree_flatten(reference.draw(1))
        others = [leaf for leaf in pytree.tree_leaves(reference.draw(2)) if isinstance(leaf, torch.Tensor)]
        where = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)][number]
        if torch.equal(leaves[where], others[number]):
            continue
        leaves[where] = others[number]
        again = _run(reference, pytree.tree_unflatten(leaves, structure))
        if all(_same(a, b) for a, b in zip(first, again, strict=True)):
            yield f"no output changes when input '{name}' is drawn again"


def _run(reference: Reference, args: Sequence[object]) -> list[torch.Tensor]:
    """Outputs without the mutated tensors, from first values of the buffers and one generator state."""
    reference.reset()
    found = reference.forward(args, seed=5)
    return found[: len(found) - len(reference.problem.mutated)]


def _one_value(x: torch.Tensor) -> bool:
    return _same(x, x.reshape(-1)[:1].expand(x.numel()).reshape(x.shape))


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    step = max(1, a.numel() // _GLANCE)
    return _equal(a.reshape(-1)[::step], b.reshape(-1)[::step]) and (step == 1 or _equal(a, b))


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    if not a.is_floating_point():
        return torch.equal(a, b)
    return torch.allclose(a, b, rtol=_SAME, atol=math.ulp(0.0), equal_nan=True)
