"""C++ templates on the example problems: eager and torch.compile beside the default and some choices.

    python benchmarks/cpu_templates.py [--choices 4] [--no-compile] [names ...]

Every round calls each subject once, so that a disturbance hits all alike; the table has medians, the
ratio over the fastest baseline and the share of the copy ceiling. It times in one process and proves
nothing: it is for tuning templates. The proof is `kernelwright optimize`.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from kernelwright.core.target import Target
from kernelwright.execute.runner import Runner
from kernelwright.graph.capture import capture
from kernelwright.languages import build
from kernelwright.problems import Reference, load_problem
from kernelwright.propose.proposals import Proposals
from kernelwright.propose.space import Choice

ENVIRONMENT = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "100000000000",
    "MALLOC_TOP_PAD_": "67108864",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
"""Memory that has been used is kept, so that first-touch page faults are on neither side."""
EXAMPLES = Path(__file__).parents[1] / "examples" / "problems"


def copy_gb_per_s() -> float:
    """Best of several copies of 256 MB, read and written bytes counted."""
    source = torch.randn(64 << 20)
    target = torch.empty_like(source)
    return max(2 * source.nbytes / 1e9 / _seconds(lambda: target.copy_(source)) for _ in range(8))


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def subjects(
    path: Path, choices: int, compiled: bool
) -> tuple[int, dict[str, Callable[[], object]], dict[str, Choice]]:
    """Compulsory bytes, and a call for every baseline and kernel."""
    target = Target.parse("cpu")
    problem = load_problem(str(path))
    reference = Reference.open(problem, problem.base, "cpu", weights_seed=1)
    args = reference.draw(seed=2, draw="file")
    proposals = Proposals.open(problem, capture(reference.module, args), target)
    rng = random.Random(0)
    picked = [proposals.space.default(), *(proposals.space.random(rng) for _ in range(choices))]
    calls: dict[str, Callable[[], object]] = {"eager": lambda: reference.module(*args)}
    if compiled:
        faster = torch.compile(reference.module)
        calls["compile"] = lambda: faster(*args)
    for number, choice in enumerate(picked):
        kernel = proposals.kernel(choice)
        runner = Runner(kernel, build(kernel, target), problem, problem.axis_sizes, "cpu")
        runner.prepare(reference.weights())
        calls["default" if number == 0 else f"choice{number}"] = lambda runner=runner: runner.run(args)
    return problem.compulsory_bytes or 0, calls, dict(zip(list(calls)[1 + compiled :], picked, strict=True))


def main() -> None:
    """Print one line for each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--choices", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--no-compile", action="store_true")
    options = parser.parse_args()
    ceiling = copy_gb_per_s()
    print(f"copy {ceiling:.1f} GB/s, {torch.get_num_threads()} threads")
    for path in sorted(EXAMPLES.glob("*.py")):
        if not options.names or path.stem in options.names:
            with torch.no_grad():
                report(path, options.choices, not options.no_compile, options.rounds, ceiling)


def report(path: Path, choices: int, compiled: bool, rounds: int, ceiling: float) -> None:
    """Time one problem."""
    size, calls, picked = subjects(path, choices, compiled)
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 2):
        for name, call in calls.items():
            seconds = _seconds(call)
            if turn >= 2:
                samples[name].append(seconds * 1e3)
    medians = {name: statistics.median(times) for name, times in samples.items()}
    baseline = min(medians[name] for name in ("eager", "compile") if name in medians)
    best = min(picked, key=medians.__getitem__)
    texts = [f"{name} {value:.2f}" for name, value in medians.items()]
    share = size / 1e6 / medians[best] / ceiling
    gains = f"x{baseline / medians['default']:.2f} best x{baseline / medians[best]:.2f}"
    print(f"{path.stem:22s} {gains} {share:4.0%} | {' '.join(texts)}")
    changed = {k: v for k, v in picked[best].items() if picked["default"][k] != v}
    print(f"{'':22s} best changes {changed}", flush=True)


if __name__ == "__main__":
    if os.environ.get("MALLOC_MMAP_MAX_") != "0":
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ENVIRONMENT})
    main()
