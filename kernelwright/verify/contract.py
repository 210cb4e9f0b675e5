"""Gate `contract`: the plan computes this problem's tensors and touches nothing else.

First without running: every expression of the plan is a number at the base sizes, its buffers are the
problem's by name, role, type and shape, and every output and mutated tensor is given. Then one run:
what came back has the promised form, and inputs and weights are as they were before.

Outputs of a sealed kernel are allocated by the runner, contiguous and apart from the inputs, so they alias
nothing; those of an open kernel are looked at (`execute.open_runner`). Not covered: reads out of bounds
(harmless unless they crash).
"""

from __future__ import annotations

from kernelwright.core.errors import UsageError
from kernelwright.core.plan import Plan
from kernelwright.core.verdict import GateResult, ReasonKind
from kernelwright.execute.bind import bind
from kernelwright.execute.promises import promises
from kernelwright.verify.base import Case, Rejected, When, passed


class ContractGate:
    """The plan fits the problem, and a run keeps its promises."""

    name = "contract"
    kind: ReasonKind = "contract"
    when: When = "before"
    needs_bench = True

    def check(self, case: Case) -> GateResult:
        """Bind, load, prepare, run once, look at what changed."""
        _fits(case, case.kernel.plan)
        if case.build is None:
            raise Rejected("build", "the kernel was not compiled")
        slots = case.drawn
        slots.load(case.kernel, case.build)
        first = slots.slot("file")
        report = slots.run(first)
        changed = slots.changed(first)
        if changed:
            raise Rejected("contract", f"writes what it must not: {', '.join(changed)}", {"changed": changed})
        results = [tensor.name for tensor in report.tensors]
        return passed(self, results=results, prepare_us=slots.prepare_us)


def _fits(case: Case, plan: Plan | None) -> None:
    if plan is None:
        case.not_checked.append("work: an open kernel may call the library, or the reference")
        return
    try:
        promises(case.problem, bind(plan, case.problem.base.axes))
    except UsageError as error:
        raise Rejected("contract", str(error)) from error
