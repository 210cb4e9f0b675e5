"""Gate `form`: is the kernel well-formed data, before anything is compiled.

Looks at: the language is known and serves the target, the kernel is for this problem, its domain
parses and holds at the base workload, its sources are text of bounded size with plain file names.
Not covered: whether the plan fits the problem (`contract`) or compiles (`build`).
"""

from __future__ import annotations

from pathlib import PurePosixPath

from kernelwright.core.errors import EnvironmentFault, UsageError
from kernelwright.core.expr import holds
from kernelwright.core.kernel import Kernel
from kernelwright.core.verdict import GateResult, ReasonKind
from kernelwright.languages import LANGUAGES
from kernelwright.verify.base import Case, Rejected, When, passed

MAX_SOURCE_BYTES = 4 << 20
MAX_STEPS = 4096


class FormGate:
    """The kernel is data of the right form."""

    name = "form"
    kind: ReasonKind = "contract"
    when: When = "before"
    needs_bench = False

    def check(self, case: Case) -> GateResult:
        """Cheap checks on the kernel's own text."""
        kernel = case.kernel
        if kernel.problem != case.problem.hash:
            raise Rejected("contract", f"kernel is for problem {kernel.problem}, not {case.problem.hash}")
        _language(case)
        size = _sources(kernel)
        _domain(case)
        steps = 0 if kernel.plan is None else len(kernel.plan.run) + len(kernel.plan.prepare)
        if steps > MAX_STEPS:
            raise Rejected("contract", f"plan has {steps} steps; at most {MAX_STEPS} are allowed")
        if kernel.plan is not None and not kernel.plan.run:
            raise Rejected("work", "plan has no steps to run, so nothing would be computed")
        return passed(self, source_bytes=size, steps=steps, trust=kernel.trust)


def _language(case: Case) -> None:
    try:
        language = LANGUAGES.get(case.kernel.language)()
    except UsageError as error:
        raise Rejected("contract", str(error)) from error
    if case.kernel.trust == "open" and case.kernel.language != "python":
        raise Rejected("contract", "the kernel has no plan; an open kernel, which needs none, is Python")
    if case.target.name not in language.targets:
        raise Rejected("build", str(language.unavailable(case.target)))
    lacking = language.missing(case.target)
    if lacking is not None:
        raise EnvironmentFault(lacking)  # the machine's fault and not the kernel's


def _sources(kernel: Kernel) -> int:
    if not kernel.sources:
        raise Rejected("contract", "kernel has no source file")
    for source in kernel.sources:
        path = PurePosixPath(source.path)
        if path.is_absolute() or ".." in path.parts or "\0" in source.path:
            raise Rejected("contract", f"source path {source.path!r} leaves the kernel's own folder")
    size = sum(len(source.text.encode("utf-8", "surrogatepass")) for source in kernel.sources)
    if size > MAX_SOURCE_BYTES:
        raise Rejected("contract", f"sources have {size} bytes; at most {MAX_SOURCE_BYTES} are allowed")
    return size


def _domain(case: Case) -> None:
    axes = case.problem.base.axes
    try:
        serves = holds(case.kernel.domain, axes)
    except UsageError as error:
        raise Rejected("contract", f"domain: {error}") from error
    if not serves:
        raise Rejected("contract", f"domain {case.kernel.domain!r} leaves out the problem's own sizes {axes}")
