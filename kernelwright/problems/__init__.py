"""A source (a file, a module, a function) becomes a `Problem`, and a `Problem` becomes something that runs.

    problem = load_problem("examples/problems/softmax.py")
    reference = Reference.open(problem, problem.base, "cpu", weights_seed=0)
    reference.forward(reference.draw(seed=1))

Names are loaded when they are first asked for, so that importing this package loads no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelwright.problems.draw import DRAWS
    from kernelwright.problems.load import load_problem
    from kernelwright.problems.reference import Reference

__all__ = ["DRAWS", "Reference", "load_problem"]

_LAZY = {
    "DRAWS": "kernelwright.problems.draw",
    "Reference": "kernelwright.problems.reference",
    "load_problem": "kernelwright.problems.load",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'kernelwright.problems' has no attribute '{name}'")
