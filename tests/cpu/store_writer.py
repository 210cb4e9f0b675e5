"""A process that writes trials and prints each id once it is kept: `store_writer.py URL COUNT SIZE`."""

from __future__ import annotations

import sys

from kernelwright.core.kernel import Build, Kernel, Source
from kernelwright.core.measurement import Measurement, Timing
from kernelwright.core.problem import Entry, Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation, Run, Trial
from kernelwright.core.verdict import Verdict
from kernelwright.store import open_store

TARGET = Target.parse("cpu")


def problem(name: str = "p") -> Problem:
    return Problem(name=name, source="x", normalized=name, entry=Entry(kind="path", location="m:f"))


def run(name: str = "p") -> Run:
    return Run(problem=problem(name), target=TARGET, budget_s=1.0, strategy="random")


def trial(of: Run, latency_us: float | None = 1.0, text: str = "void f();") -> Trial:
    """An accepted and timed trial; with no latency, a rejected one."""
    kernel = Kernel(
        name="k", problem=of.problem.hash, language="cpp", sources=(Source(path="k.cpp", text=text),)
    )
    verdict = Verdict(
        verdict="rejected" if latency_us is None else "accepted", level="quick", contract_version=1, gates=()
    )
    timing = latency_us and Timing(
        name="kernel", latency_us=latency_us, ci=(latency_us, latency_us), samples_us=((latency_us,),)
    )
    evaluation = Evaluation(
        problem=of.problem.hash,
        kernel=kernel.hash,
        target=TARGET,
        build=Build(kernel=kernel.hash, target=TARGET, status="built"),
        verdict=verdict,
        measurement=Measurement(clock="outside", kernel=timing, status="won") if timing else None,
    )
    return Trial(run=of.id, kernel=kernel, evaluation=evaluation)


def main(url: str, count: int, size: int) -> None:
    with open_store(url) as store:
        mine = run()
        store.add_run(mine)
        for _ in range(count):
            made = trial(mine, text="x" * size)
            store.add_trial(made)
            print(made.id, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
