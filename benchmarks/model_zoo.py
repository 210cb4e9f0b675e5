"""Models of others through `optimize_model`: classifiers of torchvision, architectures of Transformers.

    python -m benchmarks.model_zoo [--only resnet18 Bert] [--family torchvision] [--minutes 30]
    python -m benchmarks.model_zoo --search 5 --only alexnet        # with search, and proof of speed

Needs transformers and torchvision (`pip install 'kernelwright[models]'`); nothing is downloaded, weights are
random, images and configurations as small as the architectures allow. Without `--search` nothing is searched
or timed: each model gets the first kernels of its most promising groups (`integrate.first_kernels`), is
compared with itself in float64, and undone. A record says `kernels`, `left alone` (with the reasons), or
`fault`: an exception, a wrong result, or a model that is another after `undo`. One line each in
results/cpu/model_zoo.jsonl; resumes by model, mode and versions, the smallest models first.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from benchmarks.ledger import Ledger, key_of, out_dir
from benchmarks.zoo_models import MAKERS, Made, names_of
from kernelwright.core.errors import InternalFault, KernelwrightError, boundary, first_line
from kernelwright.core.target import Target
from kernelwright.integrate.batch import Batch
from kernelwright.integrate.first_kernels import first_kernels
from kernelwright.integrate.installation import Installation
from kernelwright.integrate.proof import compared
from kernelwright.integrate.sites import UNFORESEEN
from kernelwright.integrate.tensors import tensors_in
from kernelwright.measure.environment import environment

FAULTS = (UNFORESEEN, "the kernel cannot be loaded")
"""How reasons begin for which this program is to blame."""
CALLS = 3
"""Calls per batch that guards answer after the comparison."""


def main() -> None:
    """Put each model through, and print what became of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", choices=sorted(MAKERS), help="one of the two; both by default")
    parser.add_argument("--only", nargs="*", help="names of models")
    parser.add_argument("--search", type=float, default=0.0, help="seconds of search per model; 0: none")
    parser.add_argument(
        "--groups", type=int, default=3, help="kinds of parts that get kernels without search"
    )
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no model after this")
    options = parser.parse_args()
    ledger = Ledger(out_dir("cpu") / "model_zoo.jsonl")
    until = time.monotonic() + 60 * options.minutes
    for family in [options.family] if options.family else sorted(MAKERS):
        for name in names_of(family):
            key = key_of("model_zoo", family, name, options.search, options.groups, torch.__version__)
            wanted = not options.only or name in options.only
            if wanted and not ledger.holds(key) and time.monotonic() < until:
                record(ledger, key, family, name, options.search, options.groups)


def record(ledger: Ledger, key: str, family: str, name: str, search_s: float, groups: int) -> None:
    """One model, made anew, and one line of the ledger."""
    torch.manual_seed(0)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.environ["KERNELWRIGHT_DATA"] = folder  # parts are pickled with their weights: gigabytes in all
        found = went(lambda: MAKERS[family](name), search_s, groups)
    print(f"{name:36} {found['outcome']:10} {time.monotonic() - begun:6.1f} s  {found['said']}", flush=True)
    ledger.append(
        key,
        name=name,
        family=family,
        search_s=search_s,
        groups=None if search_s else groups,
        seconds=round(time.monotonic() - begun, 1),
        environment=environment(Target.parse("cpu")),
        **found,
    )


def went(make: Callable[[], Made], search_s: float, groups: int) -> dict[str, Any]:
    """How one model went: `outcome`, `said` in one line, and the figures behind it."""
    try:
        with boundary(InternalFault, "an exception"):
            model, batches = make()
            model.eval()
            return _searched(model, batches, search_s) if search_s else _rehearsed(model, batches, groups)
    except KernelwrightError as error:
        return {"outcome": "fault", "said": first_line(error)}


def _rehearsed(model: nn.Module, batches: list[Any], groups: int) -> dict[str, Any]:
    """With the first kernels, compared, called and undone."""
    before = _results(model, batches)
    installed = first_kernels(model, batches, most=groups)
    rows = compared(model, installed, [Batch.of(each) for each in batches])
    for _ in range(CALLS):
        _results(model, batches)
    figures = _figures(installed, model)
    wrong = [row.why for row in rows if row.why]
    installed.undo()
    same = all(map(_equal, _results(model, batches), before))
    faults = [*figures["faults"], *wrong, *([] if same else ["another model after undo"])]
    faults += [f"{name}: {why}" for name, why in figures["retreats"].items() if "did not agree" in why]
    outcome = "fault" if faults else "kernels" if figures["answered"] else "left alone"
    said = faults[0] if faults else f"sites with kernels: {len(installed.guards)}"
    return {"outcome": outcome, "said": said, "wrong_results": len(wrong), **figures, "faults": faults}


def _searched(model: nn.Module, batches: list[Any], search_s: float) -> dict[str, Any]:
    """As a user has it: what stays in, or why nothing does."""
    import kernelwright as kw

    kw.optimize_model(model, batches, budget_s=search_s)
    installed: Any = model.kernelwright
    figures = _figures(installed, model)
    conclusion = installed.report["conclusion"]
    wrong = [row["why"] for row in installed.report.get("results", []) if row["why"]]
    faults = [*figures["faults"], *wrong]
    outcome = "fault" if faults else "kernels" if installed.guards else "left alone"
    return {"outcome": outcome, "said": conclusion, "wrong_results": len(wrong), **figures, "faults": faults}


def _figures(installed: Installation, model: nn.Module) -> dict[str, Any]:
    """Who answered, and why parts were left, counted by reason."""
    sites = installed.sites()
    passed: Counter[str] = Counter()
    for site in sites:
        passed.update(site.passed_on)
    return {
        "parameters": sum(each.numel() for each in model.parameters()),
        "parts": sum(1 for _ in model.modules()),
        "sites": [site.name for site in sites],
        "answered": sum(site.served for site in sites),
        "passed_on": dict(passed),
        "retreats": {site.name: site.retreat for site in sites if site.retreat},
        "left": dict(Counter(installed.left.values()).most_common()),
        "faults": sorted(why for why in {*installed.left.values(), *passed} if why.startswith(FAULTS)),
    }


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    """To the bit; what is no number is equal to itself."""
    return torch.equal(a, b) or torch.equal(a.nan_to_num(), b.nan_to_num())


def _results(model: nn.Module, batches: list[Any]) -> list[torch.Tensor]:
    return [tensor for each in batches for tensor in tensors_in(Batch.of(each).run(model))]


if __name__ == "__main__":
    main()
