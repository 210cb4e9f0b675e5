"""How long a verdict takes on a GPU, and how many there are in a minute.

    python -m benchmarks.verdicts --described DIR [--root CLONE] [--only 1:40 1:88] [--kernels 60] [--full]

Template kernels with choices drawn at random are judged at `quick` on one bench, beside one compiled
baseline, as in a search: built ahead by as many threads as there are cores while others are judged.
Between them come wrong ones: kernels whose output is overwritten with zeros, and such as do not
compile. With `--full` the default kernel is then judged at `full`, on a bench of its own. With a clone
of KernelBench, its own evaluation of one of these kernels, as a `load_inline` candidate, runs in the same
session after ours. Appends to results/h200/verdicts.jsonl.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any

from benchmarks.ledger import Ledger, key_of, out_dir
from benchmarks.peer import Peer, candidate_source
from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.plan import Memset
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.evaluate import evaluate
from kernelwright.execute.bench import Bench
from kernelwright.languages import build
from kernelwright.measure.ceilings import ceilings
from kernelwright.measure.environment import environment
from kernelwright.propose.proposals import Proposals
from kernelwright.search.ahead import Ahead
from kernelwright.search.campaign import open_proposals
from kernelwright.verify.provenance import read_ahead
from kernelwright.verify.slots import Slots

CUDA = Target.parse("cuda")
BASELINE = "compile"
WRONG_EVERY, BROKEN_EVERY = 5, 15


def main() -> None:
    """Judge kernels of each problem, then let KernelBench evaluate one of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--described", type=Path, required=True)
    parser.add_argument("--root", type=Path, help="clone of KernelBench")
    parser.add_argument("--only", nargs="*", default=["1:40", "1:88", "1:47"])
    parser.add_argument("--kernels", type=int, default=60)
    parser.add_argument("--full", action="store_true", help="time a verdict at `full` of each problem too")
    parser.add_argument("--peers", type=int, default=1, help="problems that KernelBench evaluates too")
    options = parser.parse_args()
    ledger = Ledger(out_dir("h200") / "verdicts.jsonl")
    problems = {one: _read(options.described / f"{one.replace(':', '_')}.json") for one in options.only}
    proposals = {one: open_proposals(problem, CUDA) for one, problem in problems.items()}
    peers = _peers(options, problems, proposals)
    rows = {one: judged(problems[one], proposals[one], options.kernels) for one in problems}
    for one, row in rows.items():
        theirs = peers[one].finish() if one in peers else None
        if options.full:
            row["full_s"] = finally_judged(problems[one], proposals[one])
        if theirs and theirs.get("seconds") and "accepted" in row["seconds"]:
            row["ratio"] = median(theirs["seconds"]) / row["seconds"]["accepted"]["median"]
        ledger.append(
            key_of("verdicts", problems[one].hash, time.time()),
            name=f"{one} {problems[one].name}", **row, kernelbench=theirs, environment=environment(CUDA),
        )  # fmt: skip
        print(one, problems[one].name, row, theirs, flush=True)


def judged(problem: Problem, proposals: Proposals, count: int) -> dict[str, Any]:
    """Judge `count` kernels, pipelined; seconds by kind of verdict, verdicts in a minute, where time goes."""
    cores = len(os.sched_getaffinity(0))
    taken: dict[str, list[Evaluation]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    waited, best = 0.0, None
    with (
        Bench.open(problem, target=CUDA) as bench,
        Ahead(lambda one: read_ahead(build(one, CUDA)), cores) as ahead,
    ):
        slots = _warm(bench, proposals)
        kernels = list(islice(several(proposals), count))
        ahead.begin(kernels)
        ahead.settled(kernels[:cores], 60.0)
        begun = time.perf_counter()
        for kernel in kernels:
            start = time.perf_counter()
            made = ahead.result(kernel)
            ready = time.perf_counter()
            found = evaluate(
                problem, kernel, CUDA, "quick", slots, build=made, baselines=[BASELINE], incumbent=best
            )
            kind = kind_of(found)
            waited += ready - start
            seconds[kind].append(time.perf_counter() - ready)
            taken[kind].append(found)
            best = max(filter(None, (best, _low(found))), default=None)
        wall = time.perf_counter() - begun
    return {
        "kernels": count,
        "verdicts_per_minute": 60 * count / wall,
        "wall_s": wall,
        "waited_for_builds_s": waited,
        "seconds": {kind: _spread(times) for kind, times in seconds.items()},
        "parts_s": {kind: _parts(found) for kind, found in taken.items()},
        "baseline_us": _baseline_us(taken["accepted"]),
        "reasons": sorted({_reason(one) for kind in taken for one in taken[kind] if kind != "accepted"}),
    }


def finally_judged(problem: Problem, proposals: Proposals) -> dict[str, float]:
    """Seconds of one verdict at `full`, in all and by part: processes are started and draws made for it."""
    kernel = proposals.kernel(proposals.space.default())
    made = build(kernel, CUDA)
    begun = time.perf_counter()
    found = evaluate(problem, kernel, CUDA, "full", build=made, baselines=["eager", BASELINE])
    return {"in_all": time.perf_counter() - begun, **found.seconds}


def several(proposals: Proposals) -> Iterator[Kernel]:
    """Distinct kernels with random choices, some of them made wrong."""
    rng, seen = Random(7), set[str]()
    for _ in range(100_000):
        kernel = proposals.kernel(proposals.space.random(rng))
        if kernel.hash in seen:
            continue
        seen.add(kernel.hash)
        number = len(seen)
        yield (
            broken(kernel)
            if number % BROKEN_EVERY == 0
            else (zeroed(kernel) if number % WRONG_EVERY == 0 else kernel)
        )


def zeroed(kernel: Kernel) -> Kernel:
    """The same kernel with its output overwritten at the end."""
    assert kernel.plan is not None
    run = (*kernel.plan.run, Memset(buffer="out"))
    return kernel.model_copy(update={"plan": kernel.plan.model_copy(update={"run": run})})


def broken(kernel: Kernel) -> Kernel:
    """The same kernel with a source that does not compile."""
    first, *rest = kernel.sources
    sources = (Source(path=first.path, text=f"{first.text}\nint unfinished("), *rest)
    return kernel.model_copy(update={"sources": sources})


def kind_of(found: Evaluation) -> str:
    """`accepted`, or `rejected by` the gate that said no."""
    assert found.verdict is not None
    reason = found.verdict.reason
    return "accepted" if reason is None else f"rejected by {reason.gate}"


def _warm(bench: Bench, proposals: Proposals) -> Slots:
    """Draws, expectations, the baseline and the ceilings, which a search makes once."""
    slots = Slots(bench)
    ceilings(CUDA, worker=bench.reference)
    kernel = proposals.kernel(proposals.space.default())
    evaluate(bench.problem, kernel, CUDA, "quick", slots, baselines=[BASELINE])
    return slots


def _peers(
    options: argparse.Namespace, problems: dict[str, Problem], proposals: dict[str, Proposals]
) -> dict[str, Peer]:
    """Children that build now and evaluate at the end."""
    found: dict[str, Peer] = {}
    for one, problem in problems.items():
        if options.root is None or len(found) >= options.peers:
            break
        level, number = one.split(":")
        (path,) = (options.root / "KernelBench" / f"level{level}").glob(f"{number}_*.py")
        kernel = proposals[one].kernel(proposals[one].space.default())
        source = candidate_source(problem, kernel, path.read_text())
        if source is not None:
            found[one] = Peer(options.root, path.read_text(), source)
    return found


def _read(path: Path) -> Problem:
    return Problem.model_validate_json(path.read_text())


def _low(found: Evaluation) -> float | None:
    measured = found.measurement
    return measured.strongest.ci[0] if measured is not None and measured.strongest is not None else None


def _spread(times: list[float]) -> dict[str, float]:
    p95 = quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    return {"count": len(times), "median": round(median(times), 4), "p95": round(p95, 4)}


def _parts(found: Iterable[Evaluation]) -> dict[str, float]:
    parts: dict[str, list[float]] = defaultdict(list)
    for one in found:
        for name, seconds in one.seconds.items():
            parts[name].append(seconds)
        for gate in one.verdict.gates if one.verdict else ():
            parts[f"gate {gate.name}"].append(gate.seconds or 0.0)
    return {name: round(median(values), 4) for name, values in parts.items()}


def _baseline_us(found: list[Evaluation]) -> float | None:
    times = [one.measurement.baselines[0].latency_us for one in found if one.measurement is not None]
    return round(median(times), 2) if times else None


def _reason(found: Evaluation) -> str:
    reason = found.verdict.reason if found.verdict else None
    return "" if reason is None else f"{reason.gate} ({reason.kind}): {reason.message[:160]}"


if __name__ == "__main__":
    main()
