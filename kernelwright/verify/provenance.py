"""Gate `provenance`: sums are not made in a type that is coarser than all that the reference uses.

The types of matrix instructions, of half-precision arithmetic and of library steps are read from the machine
code and the plan, so that precision cannot be borrowed where results do not show it: in a branch that is
not taken at the sizes that are checked, or under slack elsewhere in the graph.

Rejected is a *sum* in half precision or below where the reference has no value of a type that coarse. All
else is labelled and decided by results: TF32 or half operands that are added up in float32 (split products
are made of them), narrow products, roundings, approximations. `docs/design/provenance.md` says why.

Not covered: x86 machine code, open kernels, and rounding by integer instructions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernelwright.core.kernel import Build
from kernelwright.core.verdict import GateResult, ReasonKind
from kernelwright.languages.signature import calls
from kernelwright.sass import Code, Unreadable, Use, read_code
from kernelwright.sass.types import SIGNIFICANT_BITS, coarsest
from kernelwright.verify.base import Case, Rejected, When, skipped
from kernelwright.verify.library_use import LibraryUse, library_uses

HALF_BITS = SIGNIFICANT_BITS["float16"]
Evidence = dict[str, Any]


class ProvenanceGate:
    """Sums are made in types that the reference uses."""

    name = "provenance"
    kind: ReasonKind = "precision"
    when: When = "before"
    needs_bench = False

    def check(self, case: Case) -> GateResult:
        """Read the plan, then the machine code; reject, label, or say what could not be read."""
        coarse = coarsest(case.problem.float_types)
        steps = library_uses(case.kernel.plan, case.problem.flags, case.target.name)
        evidence: Evidence = {
            "reference_types": list(case.problem.float_types),
            "flags": case.problem.flags.model_dump(),
            "library": [asdict(step) for step in steps],
        }
        _judge_library(steps, coarse, evidence)
        unread = _unread(case)
        if unread:
            return _left_open(self, unread, evidence)
        try:
            code = read_code(Path(_artifact(case)))
        except Unreadable as error:
            return _left_open(self, str(error), evidence)
        evidence |= _told(case, code)
        _judge_code(code, coarse, evidence)
        return self._concluded(steps, code, coarse, evidence)

    def _concluded(
        self, steps: list[LibraryUse], code: Code, coarse: str | None, evidence: Evidence
    ) -> GateResult:
        untold = [f"{use.instruction} in '{name}'" for name, use in _every(code) if _is_untold(use)]
        if untold:
            return _left_open(self, f"{untold[0]} does not tell its types", evidence)
        if coarse is None:
            return _left_open(
                self, "it is not known in which floating types the reference computes", evidence
            )
        labels = sorted({*_library_labels(steps, coarse), *_code_labels(code, coarse)})
        return GateResult(
            name=self.name,
            status="pass",
            kind=self.kind,
            message="; ".join(labels),
            evidence={**evidence, "labels": labels},
        )


def read_ahead(build: Build) -> Build:
    """`build`, its machine code read where the gate will ask for it: beside other work, before the gate."""
    if build.target.name == "cuda" and build.artifact:
        with suppress(Unreadable):
            read_code(Path(build.artifact))
    return build


def _unread(case: Case) -> str | None:
    """Why the kernel's machine code is not read, where it is not."""
    if case.kernel.plan is None:
        return "an open kernel brings its own code; its precision is judged by results"
    if case.target.name != "cuda":
        return "machine code of a CPU is not read; precision is judged by results"
    return None


def _artifact(case: Case) -> str:
    if case.build is None or case.build.artifact is None:
        raise Rejected("build", "the kernel was not compiled")
    return case.build.artifact


def _told(case: Case, code: Code) -> Evidence:
    """What stands in the code, for a person with a disassembler at hand."""
    launched = {step.entry for step in calls(case.kernel.plan)} if case.kernel.plan else set()
    return {
        "tool": code.tool,
        "kernels": {one.name: [use.model_dump(mode="json") for use in one.uses] for one in code.sections},
        "not_launched": [one.name for one in code.sections if one.entry and one.name not in launched],
    }


def _judge_library(steps: list[LibraryUse], coarse: str | None, evidence: Evidence) -> None:
    for step in steps:
        if _borrows(step.result, coarse):
            raise Rejected(
                "precision",
                f"{step.op} adds up into {step.result}; nothing in the reference is coarser than {coarse}: "
                f"give it buffers of {coarse}",
                evidence,
            )


def _judge_code(code: Code, coarse: str | None, evidence: Evidence) -> None:
    for name, use in _every(code):
        if use.kind in ("matrix", "sum") and use.result and _borrows(use.result, coarse):
            what = f"adds up products in {use.result}" if use.kind == "matrix" else f"adds in {use.result}"
            idle = name in evidence["not_launched"]
            remedy = ", or leave out this kernel, which the plan does not launch" if idle else ""
            raise Rejected(
                "precision",
                f"'{name}' {what} ({use.count} x {use.instruction}, run or not); nothing in the reference is "
                f"coarser than {coarse}: accumulate in {coarse}{remedy}",
                evidence,
            )


def _borrows(result: str, coarse: str | None) -> bool:
    """Whether a sum in `result` is in half precision or below, and coarser than all of the reference."""
    bits = SIGNIFICANT_BITS.get(result)
    return coarse is not None and bits is not None and bits <= HALF_BITS and bits < SIGNIFICANT_BITS[coarse]


def _is_coarser(name: str | None, coarse: str) -> bool:
    return name is not None and SIGNIFICANT_BITS.get(name, 99) < SIGNIFICANT_BITS[coarse]


def _is_untold(use: Use) -> bool:
    return use.kind == "unknown" or (use.kind == "matrix" and use.result is None)


def _code_labels(code: Code, coarse: str) -> Iterator[str]:
    """What a reader should know of code that was not rejected."""
    for _, use in _every(code):
        if use.kind == "matrix":
            operands = use.operands
            if _is_coarser(use.result, coarse) or any(_is_coarser(one, coarse) for one in operands):
                yield f"{' and '.join(operands)} products added up in {use.result}"
            elif use.result == "int32":
                yield f"{' and '.join(operands)} products added up in int32"
        elif use.kind == "sum" and use.result in ("float16", "bfloat16"):
            yield f"sums in {use.result}"
        elif use.kind in ("product", "function", "conversion") and _is_coarser(use.result, coarse):
            what = "values rounded to" if use.kind == "conversion" else f"{use.kind}s in"
            yield f"{what} {use.result}"


def _library_labels(steps: list[LibraryUse], coarse: str) -> Iterator[str]:
    for step in steps:
        for operand in step.operands:
            if step.multiplies and _is_coarser(operand, coarse):
                yield f"{operand} products of the library"


def _every(code: Code) -> Iterator[tuple[str, Use]]:
    """Every use with the kernel that it stands in, also in kernels that the plan does not launch."""
    return ((one.name, use) for one in code.sections for use in one.uses)


def _left_open(gate: ProvenanceGate, why: str, evidence: Evidence) -> GateResult:
    """Not judged, with what was seen all the same."""
    return skipped(gate, why).model_copy(update={"evidence": evidence})
