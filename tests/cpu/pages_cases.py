"""A small verdict with everything that a page shows, and what a page is made of."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from kernelwright.analysis.verdict_page import Judged
from kernelwright.core.kernel import Build, Kernel, Source
from kernelwright.core.measurement import Measurement, Speedup, Timing
from kernelwright.core.problem import Axis, Entry, Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import GateResult, Level, Verdict

CPU = Target.parse("cpu")
MISMATCH = {"where": [2, 5], "actual": 0.4000000059604645, "expected": 0.0, "eager": 0.0, "draw": "file"}
DRAWS = {
    "file-0": {"relative_error": 6.1e-08, "share_of_limit": 0.04},
    "nonfinite-0": {"relative_error": 6.7e-08, "share_of_limit": 0.05},
}


def judged(
    text: str = "text", *, accepted: bool = True, workload: str | None = None, level: Level = "full"
) -> Judged:
    """A judgement in which all text of others is `text`."""
    problem = Problem(
        name=text, source=text, normalized=text, axes=(Axis(name="rows", size=8),),
        entry=Entry(kind="kernelbench", location=text),
    )  # fmt: skip
    kernel = Kernel(name=text, problem="0" * 32, language="python", sources=(Source(path="k.py", text=text),))
    evaluation = Evaluation(
        problem=problem.hash, kernel=kernel.hash, target=CPU, verdict=_verdict(text, accepted, level),
        build=Build(kernel=kernel.hash, target=CPU, status="built", log=text, tool=text),
        measurement=_measurement(text) if accepted else None,
    )  # fmt: skip
    return Judged(problem, kernel, evaluation, workload, (text,), {"cpu": text, "versions": {"torch": text}})


def _verdict(text: str, accepted: bool, level: Level) -> Verdict:
    gates = [
        GateResult(name="form", status="pass", kind="contract", evidence={"trust": "open", "said": text}),
        GateResult(
            name="numeric", status="pass" if accepted else "fail", kind="answer", message=text, seconds=0.25,
            evidence={"draws": DRAWS, text: [text, None, True]} if accepted else {**MISMATCH, "said": text},
        ),
        GateResult(name="floor", status="skipped", kind="floor", message=text),
    ]  # fmt: skip
    return Verdict.of(gates, level, 2, [text, "timed: not reached", "repeat: not reached"])


def _measurement(text: str) -> Measurement:
    def timing(name: str, us: float) -> Timing:
        samples = tuple(tuple(us * (1 + 0.01 * (call + lane)) for call in range(4)) for lane in range(2))
        return Timing(name=name, latency_us=us, ci=(0.98 * us, 1.05 * us), samples_us=samples)

    return Measurement(
        method_version=3, clock="outside", kernel=timing("kernel", 500.0), baselines=(timing(text, 800.0),),
        speedups=(Speedup(baseline=text, ratio=1.6, ci=(1.5, 1.7)),), status="won", floor_share=0.25,
        resolution_us=40.0, stopping=text,
        environment={"cpu": text, "versions": {"torch": text}, "series": [1]},
    )  # fmt: skip


def audit_summary(text: str = "text", kind: str = "answer", level: str = "full") -> dict[str, Any]:
    """What `audit --json` prints of three candidates, in which all text of others is `text`."""
    rows = [
        {"name": text, "problem": text, "kernel": "0" * 32, "verdict": "accepted", "reason": None,
         "status": "won", "status_reason": text, "speedup": 1.6, "speedup_ci": [1.5, 1.7], "over": text,
         "not_checked": [text]},
        {"name": text, "verdict": "rejected", "reason": {"gate": "numeric", "kind": kind, "message": text},
         "status": None, "speedup": None, "speedup_ci": None, "over": None, "not_checked": []},
        {"name": text, "verdict": "unjudged", "reason": {"message": text}},
    ]  # fmt: skip
    counts = {"candidates": 3, "accepted": 1, "rejected": {kind: 1}, "unjudged": 1}
    return {"level": level, **counts, "rows": rows}


class Outline(HTMLParser):
    """The elements of a page in order, with the names of their attributes; its text; its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, ...]] = []
        self.texts: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.inside: dict[str, str] = {}
        self._open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open = tag
        self.elements.append((tag, *(name for name, _ in attrs)))
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        self._open = ""
        self.elements.append(("/" + tag,))

    def handle_data(self, data: str) -> None:
        if self._open in ("script", "style"):
            self.inside[self._open] = self.inside.get(self._open, "") + data
        else:
            self.texts.append(data)
