"""`Guard`: what stands in the place of a site's `forward`.

    guard = Guard(site, fitted_kernel); guard.put_in(); guard.take_out()

It is an attribute of the instance, so the site keeps its class, names, parameters and hooks, and taking it
out leaves what was there. Inside the kernel's domain the kernel answers; the original does where the kernel
refuses, where a compiler traces, after a retreat, and where the environment says so (`KERNELWRIGHT_OFF`).

In shadow, both run on a share of calls. A result that does not agree takes the kernel out for good, and so
does a kernel that is slower than the original.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from kernelwright.execute.agreement import agree, tolerance_of
from kernelwright.execute.module import KernelModule

OFF = "KERNELWRIGHT_OFF"
"""Environment variable that, set to anything, has originals answer everywhere."""
ENOUGH = 20
"""Shadowed calls from which on times are compared."""
SLOWER = 1.02
"""A kernel that takes so many times as long as the original is withdrawn."""


class Original:
    """A site's own `forward`, as its class has it; can be pickled, which the bound method could not be."""

    def __init__(self, site: nn.Module) -> None:
        self.site = site

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the class computes."""
        return type(self.site).forward(self.site, *args, **kwargs)


class Guard:
    """A site's kernel, its original, and who answers."""

    def __init__(self, site: nn.Module, kernel: KernelModule) -> None:
        """`kernel` was fitted to `site`."""
        self.site = site
        self.original: Callable[..., Any] = Original(site)
        kernel.answer_with(self.original)
        self.kernel = kernel
        self.retreat = ""
        """Why the kernel was taken out for good, or nothing."""
        self.shadowed = 0
        self._share = 0.0
        self._owed = 0.0
        self._times: list[tuple[float, float]] = []

    def put_in(self) -> None:
        """Stand in the place of `forward`."""
        vars(self.site)["forward"] = self

    def take_out(self) -> None:
        """Leave the site as it was."""
        if vars(self.site).get("forward") is self:
            del vars(self.site)["forward"]

    def shadow(self, share: float) -> None:
        """Run the original too on this share of calls, and compare."""
        self._share = share

    def count_anew(self) -> None:
        """Forget who answered so far."""
        self.kernel.served = 0
        self.kernel.passed_on.clear()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the site's `forward` gives."""
        if torch.compiler.is_compiling() or self.retreat or OFF in os.environ:
            return self.original(*args, **kwargs)
        self._owed += self._share
        if self._owed >= 1.0:
            self._owed -= 1.0
            return self._both(args, kwargs)
        return self.kernel.forward(*args, **kwargs)

    def _both(self, args: Any, kwargs: Any) -> Any:
        """The original's answer; the kernel runs first, on arguments that it may not change for the other."""
        served = self.kernel.served
        begun = time.perf_counter()
        found = self.kernel.forward(*args, **kwargs)
        between = time.perf_counter()
        if self.kernel.served == served or self.kernel.problem.mutated:
            return found
        wanted = self.original(*args, **kwargs)
        self.shadowed += 1
        self._times.append((between - begun, time.perf_counter() - between))
        self._judge(found, wanted)
        return wanted

    def _judge(self, found: Any, wanted: Any) -> None:
        tolerance = tolerance_of(self.kernel.problem)
        pairs = zip(pytree.tree_leaves(found), pytree.tree_leaves(wanted), strict=True)
        if not all(agree(a, b, tolerance) for a, b in pairs if isinstance(b, torch.Tensor)):
            self.retreat = "its result did not agree with the original's on a live call"
        elif len(self._times) >= ENOUGH:
            ratio = median(kernel / original for kernel, original in self._times)
            self._times.clear()
            if ratio > SLOWER:
                self.retreat = f"it took {ratio:.2f} times as long as the original on live calls"
