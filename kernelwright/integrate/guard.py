"""`Guard`: what stands in the place of a site's `forward`.

    guard = Guard(site, fitted_kernel); guard.put_in(); guard.take_out()

It is an attribute of the instance, so the site keeps its class, names, parameters and hooks, and taking it
out leaves what was there. Inside the kernel's domain the kernel answers; the original does where the kernel
refuses, where a compiler traces, after a retreat, and where the environment says so (`KERNELWRIGHT_OFF`).

The first call of each form (shapes, strides, types) is answered by the original while the kernel runs beside
it: what tracing did not see, such as a branch on a size, shows there. In shadow, both run on a share of all
calls. A result that does not agree takes the kernel out for good, and so does a kernel that is slower.

Not covered: copies of a site that are made without `copy.deepcopy` (`copy.copy`, `nn.DataParallel`), which
take the guard of the site with them.
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

from kernelwright.core.errors import first_line
from kernelwright.execute.agreement import agree, tolerance_of
from kernelwright.execute.forms import Form, form_of
from kernelwright.execute.module import KernelModule
from kernelwright.execute.reports import KernelFault
from kernelwright.integrate.tensors import wait_for_device

OFF = "KERNELWRIGHT_OFF"
"""Environment variable that, set to anything, has originals answer everywhere."""
ENOUGH = 20
"""Shadowed calls from which on times are compared."""
SLOWER = 1.02
"""A kernel that takes so many times as long as the original is withdrawn."""
MOST_FORMS = 1024
"""Forms of calls that are remembered; calls of others are the original's."""


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
        self._in = False
        self._share = 0.0
        self._owed = 0.0
        self._times: list[tuple[float, float]] = []
        self._forms: dict[Form, bool] = {}
        """Forms of calls that were compared: whether the kernel may answer them."""

    def put_in(self) -> None:
        """Stand in the place of `forward`."""
        self._in = True
        vars(self.site)["forward"] = self

    def take_out(self) -> None:
        """Leave the site as it was. A tool that wrapped `forward` meanwhile has the original now."""
        self._in = False
        if vars(self.site).get("forward") is self:
            del vars(self.site)["forward"]

    def shadow(self, share: float) -> None:
        """Run the original too on this share of calls, and compare."""
        self._share = share

    def count_anew(self) -> None:
        """Forget who answered so far."""
        self.kernel.served = self.shadowed = 0
        self.kernel.passed_on.clear()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the site's `forward` gives."""
        if torch.compiler.is_compiling() or not self._in or self.retreat or OFF in os.environ:
            return self.original(*args, **kwargs)
        form = form_of(args, kwargs)
        known = self._forms.get(form) if form is not None else False
        if form is None or known is False:
            return self.original(*args, **kwargs)
        if known is None:
            return self._first(form, args, kwargs)
        self._owed += self._share
        if self._owed >= 1.0:
            self._owed -= 1.0
            return self._both(form, args, kwargs)
        return self._tried(form, args, kwargs)

    def _first(self, form: Form, args: Any, kwargs: Any) -> Any:
        """A call of a form that was not met before."""
        if len(self._forms) < MOST_FORMS:
            return self._both(form, args, kwargs)
        return self.original(*args, **kwargs)

    def _tried(self, form: Form, args: Any, kwargs: Any) -> Any:
        """The kernel's answer; the original's where the kernel passes the call on, or fails and retreats."""
        try:
            return self.kernel.answer(form, args, kwargs)
        except KernelFault as fault:
            self.retreat = f"it failed on a live call: {first_line(fault)}"
            return self.original(*args, **kwargs)

    def _both(self, form: Form, args: Any, kwargs: Any) -> Any:
        """The original's answer; the kernel runs before it, on the same arguments."""
        served = self.kernel.served
        begun = _now()
        found = self._tried(form, args, kwargs)
        between = _now()
        if self.kernel.served == served:  # the original answered, perhaps for reasons that pass
            return found
        wanted = self.original(*args, **kwargs)
        self.shadowed += 1
        self._times.append((between - begun, _now() - between))
        self._judge(form, found, wanted)
        return wanted

    def _judge(self, form: Form, found: Any, wanted: Any) -> None:
        first = form not in self._forms
        tolerance = tolerance_of(self.kernel.problem)
        pairs = [
            (a, b)
            for a, b in zip(pytree.tree_leaves(found), pytree.tree_leaves(wanted), strict=True)
            if isinstance(b, torch.Tensor)
        ]
        if not all(agree(a, b, tolerance) for a, b in pairs):
            self.retreat = "its result did not agree with the original's on a live call"
            return
        self._forms[form] = all(a.stride() == b.stride() for a, b in pairs)
        if first:  # the kernel was loaded in this call
            self._times.pop()
        if len(self._times) >= ENOUGH:
            ratio = median(kernel / original for kernel, original in self._times)
            self._times.clear()
            if ratio > SLOWER:
                self.retreat = f"it took {ratio:.2f} times as long as the original on live calls"


def _now() -> float:
    """Seconds, once a GPU has done what it was given."""
    wait_for_device()
    return time.perf_counter()
