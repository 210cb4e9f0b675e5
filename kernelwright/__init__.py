"""Kernelwright: find a faster kernel for a computation, and prove it.

    import kernelwright as kw
    result = kw.optimize(module, inputs, budget_s=60)
    result.module(x)

Importing the package loads no torch, no triton, no database and no web framework.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kernelwright.core.errors import EnvironmentFault, KernelwrightError, ProblemError, UsageError
    from kernelwright.evaluate import evaluate
    from kernelwright.integrate import diagnose_model, optimize_model
    from kernelwright.load import load
    from kernelwright.optimize import diagnose, optimize
    from kernelwright.problems import load_problem

_LAZY = {
    "EnvironmentFault": "kernelwright.core.errors",
    "KernelwrightError": "kernelwright.core.errors",
    "ProblemError": "kernelwright.core.errors",
    "UsageError": "kernelwright.core.errors",
    "diagnose": "kernelwright.optimize",
    "diagnose_model": "kernelwright.integrate",
    "evaluate": "kernelwright.evaluate",
    "load": "kernelwright.load",
    "load_problem": "kernelwright.problems",
    "optimize": "kernelwright.optimize",
    "optimize_model": "kernelwright.integrate",
}

__all__ = [
    "EnvironmentFault",
    "KernelwrightError",
    "ProblemError",
    "UsageError",
    "__version__",
    "diagnose",
    "diagnose_model",
    "evaluate",
    "load",
    "load_problem",
    "optimize",
    "optimize_model",
]


class _Package(ModuleType):
    """The package, in which `optimize` is the function also once the module of that name is imported.

    Importing a submodule sets it as an attribute of its package, over a function of the same name.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        own = name in _LAZY and isinstance(value, ModuleType) and hasattr(value, name)
        super().__setattr__(name, getattr(value, name) if own else value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'kernelwright' has no attribute '{name}'")
