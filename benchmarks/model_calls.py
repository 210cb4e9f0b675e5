"""Thousands of calls, no two alike, of parts with kernels in them: is an answer ever wrong?

    python -m benchmarks.model_calls [--calls 10000] [--seed 0]

Each part has a twin without a kernel, to which the same is done: called with tensors of random shape, type,
device and layout, with gradients, without, in inference mode, under autocast; in between weights change,
attributes, hooks, modes and types, and parts are copied. An answer is wrong if it differs from the twin's in
anything but rounding: value, type, shape, strides, device, whether it wants gradients, which exception.
Where the original answered it must be equal to the bit. One line in results/cpu/model_calls.jsonl.
"""

from __future__ import annotations

import argparse
import copy
import os
import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import cycle
from random import Random
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from benchmarks.call_forms import Call
from benchmarks.call_sites import CHANGES, KINDS, Kind
from benchmarks.ledger import Ledger, key_of, out_dir
from kernelwright.core.target import Target
from kernelwright.execute.fit import fitted
from kernelwright.integrate.guard import OFF, Guard
from kernelwright.languages import build
from kernelwright.measure.environment import environment
from kernelwright.problems import load_problem
from kernelwright.search.campaign import open_proposals

EPISODE = 40
"""Calls of one pair of twins; then a fresh pair begins."""
CHANGED = 0.04
"""Share of calls before which something is done to both."""
SHOWN = 5
"""Wrong answers that are described."""
DONE = (*CHANGES, "copied", "pickled", "shadowed", "off", "on")
FACTS: dict[str, Callable[[torch.Tensor], Any]] = {
    "type": lambda x: x.dtype,
    "shape": lambda x: tuple(x.shape),
    "strides": lambda x: x.stride(),
    "device": lambda x: x.device,
    "wants gradients:": lambda x: x.requires_grad,
    "is of inference mode:": lambda x: x.is_inference(),
}
"""What must be equal, whoever answered."""


@dataclass
class Outcome:
    """What became of the calls."""

    counts: Counter[str] = field(default_factory=Counter)
    """Calls, those that kernels answered, those in which both raised, those after a kernel retreated (it was
    `slower`, or it `disagreed`), and calls by part, layout, gradients and change before them."""
    wrong: list[str] = field(default_factory=list)
    """One sentence for each wrong answer."""


@dataclass
class Pair:
    """A part with a kernel and its twin without one."""

    site: nn.Module
    twin: nn.Module

    @property
    def guard(self) -> Guard:
        """The site's."""
        found: Guard = vars(self.site)["forward"]
        return found


def main() -> None:
    """Call, print what became of it, and append a line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    begun = time.monotonic()
    found = called(options.calls, options.seed)
    Ledger(out_dir("cpu") / "model_calls.jsonl").append(
        key_of("model_calls", options.calls, options.seed, torch.__version__),
        seed=options.seed,
        counts=dict(found.counts),
        wrong=len(found.wrong),
        described=found.wrong[:SHOWN],
        seconds=round(time.monotonic() - begun, 1),
        environment=environment(Target.parse("cpu")),
    )
    print(f"{found.counts['calls']} calls, {found.counts['answered']} by kernels, wrong: {len(found.wrong)}")
    print("\n".join(found.wrong[:SHOWN]))


def called(calls: int, seed: int, spoil: Callable[[Guard], None] | None = None) -> Outcome:
    """That many calls; `spoil` is done to each guard, for a test that faults are seen."""
    random, found = Random(seed), Outcome()
    torch.manual_seed(seed)
    pristine = {name: guarded(kind) for name, kind in KINDS.items()}
    for name in cycle(sorted(KINDS)):
        if found.counts["calls"] >= calls:
            break
        pair = copy.deepcopy(pristine[name])
        if spoil is not None:
            spoil(pair.guard)
        with _switched_back():
            _episode(name, pair, random, min(EPISODE, calls - found.counts["calls"]), found)
    return found


@lru_cache
def guarded(kind: Kind) -> Pair:
    """A part with its first kernel in it, and its twin; to be copied before anything is done to them."""
    site = kind.make().eval()
    twin, target = copy.deepcopy(site), Target.parse("cpu")
    problem = load_problem(site, kind.example())
    proposals = open_proposals(problem, target)
    kernel = proposals.kernel(proposals.space.default())
    Guard(site, fitted(site, kernel, build(kernel, target), problem)).put_in()
    return Pair(site, twin)


def _episode(name: str, pair: Pair, random: Random, calls: int, found: Outcome) -> None:
    """Calls of one pair. Few shapes, so that forms come again; seldom many, so that some are forgotten."""
    kind = KINDS[name]
    shapes = [kind.shape(random) for _ in range(random.choice((2, 2, 4, 40)))]
    for _ in range(calls):
        done = random.choice(DONE) if random.random() < CHANGED else ""
        pair = _after(done, pair)
        call = Call.drawn(kind, random.choice(shapes), random)
        served = pair.guard.kernel.served
        mine, wanted = call.of(pair.site), call.of(pair.twin)
        answered = pair.guard.kernel.served > served
        why = difference(mine, wanted, exact=not answered) or call.touched()
        found.counts.update(["calls", f"part {name}", f"layout {call.layout}", f"gradients {call.grad}"])
        found.counts.update([f"change {done}"] * bool(done) + ["answered"] * answered)
        found.counts.update(["raised"] * isinstance(wanted, str))
        if pair.guard.retreat:
            found.counts.update(["slower" if "times as long" in pair.guard.retreat else "disagreed"])
        if why:
            found.wrong.append(f"call {found.counts['calls']} of {name}, {call.words()}: {why}")


def _after(done: str, pair: Pair) -> Pair:
    """The pair once something was done to both of it, or to the guard alone."""
    match done:
        case "":
            return pair
        case "copied":
            return copy.deepcopy(pair)
        case "pickled":
            return _pickled(pair)
        case "shadowed":
            pair.guard.shadow(0.5)
        case "off":
            os.environ[OFF] = "1"
        case "on":
            os.environ.pop(OFF, None)
        case _:
            for each in (pair.site, pair.twin):
                CHANGES[done](each)
    return pair


def _pickled(pair: Pair) -> Pair:
    """Written and read, where hooks allow it."""
    if pair.site._forward_hooks:
        return pair
    loaded: Pair = pickle.loads(pickle.dumps(pair))
    return loaded


def difference(mine: Any, wanted: Any, exact: bool) -> str:
    """What is another than it should be, in words, or nothing. Both are results, or names of exceptions."""
    mine_leaves, mine_spec = pytree.tree_flatten(mine)
    leaves, spec = pytree.tree_flatten(wanted)
    if mine_spec != spec:
        return f"it gave {mine_spec} where the twin gave {spec}"
    return next(filter(None, map(partial(_apart, exact=exact), mine_leaves, leaves)), "")


def _apart(mine: Any, wanted: Any, exact: bool) -> str:
    if not isinstance(wanted, torch.Tensor) or not isinstance(mine, torch.Tensor):
        return "" if type(mine) is type(wanted) and mine == wanted else f"{mine!r} in place of {wanted!r}"
    for name, read in FACTS.items():
        if read(mine) != read(wanted):
            return f"{name} {read(mine)} in place of {read(wanted)}"
    if wanted.is_meta:
        return ""
    step = 0.0 if exact else 32 * torch.finfo(wanted.dtype).eps if wanted.is_floating_point() else 0.0
    near = torch.allclose(mine, wanted, rtol=step, atol=step, equal_nan=True)
    return "" if near else f"values differ by {float((mine - wanted).abs().max()):.3g}"


@contextmanager
def _switched_back() -> Iterator[None]:
    """What an episode did to the environment does not outlast it."""
    before = os.environ.get(OFF)
    try:
        yield
    finally:
        os.environ.pop(OFF, None)
        if before is not None:
            os.environ[OFF] = before


if __name__ == "__main__":
    main()
