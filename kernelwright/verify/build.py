"""Gate `build`: the compiler took it. A failure carries the compiler's own words, whole."""

from __future__ import annotations

from kernelwright.core.verdict import GateResult, ReasonKind
from kernelwright.verify.base import Case, Rejected, When, passed


class BuildGate:
    """The kernel was compiled for the target."""

    name = "build"
    kind: ReasonKind = "build"
    when: When = "before"
    needs_bench = False

    def check(self, case: Case) -> GateResult:
        """Pass on what the build says; `case.build` is set by then."""
        build = case.build
        if build is None:
            raise Rejected("build", "the kernel was not compiled")
        if build.kernel != case.kernel.hash:
            raise Rejected("build", f"build is of kernel {build.kernel}, not of {case.kernel.hash}")
        if build.status == "failed":
            raise Rejected("build", _first_error(build.log), {"log": build.log, "tool": build.tool})
        return passed(self, tool=build.tool, cached=build.cached, resources=build.resources)


def _first_error(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    named = next((line for line in lines if "error:" in line.lower()), None)
    return named or (lines[0] if lines else "the compiler failed without a word")
