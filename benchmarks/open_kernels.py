"""Open kernels on a GPU: the reference handed in as a candidate, which may claim nothing, and its cost.

    python -m benchmarks.open_kernels --described DIR [--only 1:40 1:88] [--level quick full]

Each problem's own model is judged as a `ModelNew` beside eager: the whole way of open kernels, with windows
of calls as clock. A ratio that is not 1 is what the two processes differ by. Appends to
results/h200/open_kernels.jsonl.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks.ledger import Ledger, key_of, out_dir
from kernelwright.core.kernel import Kernel, Proposer, Source
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.evaluate import evaluate
from kernelwright.measure.environment import environment

CUDA = Target.parse("cuda")
ITSELF = "\n\nclass ModelNew(Model):\n    pass\n"


def main() -> None:
    """Judge each problem's own model at each level."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--described", type=Path, required=True, help="what benchmarks.kernelbench describes")
    parser.add_argument("--only", nargs="*", default=["1:88", "1:40", "1:47", "1:23"])
    parser.add_argument("--level", nargs="*", default=["quick", "full"], choices=["quick", "full"])
    options = parser.parse_args()
    ledger = Ledger(out_dir("h200") / "open_kernels.jsonl")
    for one in options.only:
        path = options.described / f"{one.replace(':', '_')}.json"
        problem = Problem.model_validate_json(path.read_text())
        for level in options.level:
            row = judged(problem, level)
            key = key_of("open", problem.hash, level, time.time())
            ledger.append(key, name=f"{one} {problem.name}", **row, environment=environment(CUDA))
            print(one, problem.name, {key: row[key] for key in row if key != "gates"}, flush=True)


def judged(problem: Problem, level: Any) -> dict[str, Any]:
    """The verdict on the problem's own model as a candidate, its speed-up over eager, and the seconds."""
    kernel = Kernel(
        name="itself",
        problem=problem.hash,
        language="python",
        sources=(Source(path="itself.py", text=problem.source + ITSELF),),
        proposer=Proposer(name="open_kernels"),
    )
    begun = time.perf_counter()
    found = evaluate(problem, kernel, CUDA, level, baselines=["eager"])
    seconds = time.perf_counter() - begun
    verdict, measurement = found.verdict, found.measurement
    speedup = measurement and measurement.speedups[0]
    return {
        "level": level,
        "verdict": verdict and verdict.verdict,
        "reason": verdict and verdict.reason and verdict.reason.message,
        "status": measurement and measurement.status,
        "ratio": speedup and speedup.ratio,
        "ci": speedup and list(speedup.ci),
        "kernel_us": measurement and measurement.kernel.latency_us,
        "eager_us": measurement and measurement.baselines[0].latency_us,
        "resolution_us": measurement and measurement.resolution_us,
        "calls_in_a_window": measurement and measurement.environment["series"][0].get("calls_in_a_window"),
        "seconds": {**found.seconds, "in_all": seconds},
        "gates": {gate.name: gate.evidence for gate in verdict.gates} if verdict else {},
    }


if __name__ == "__main__":
    main()
