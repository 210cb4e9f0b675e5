"""Many hostile kernels in a row: does a good kernel pass after each, and is anything left at the end?

    python -m benchmarks.hostile --candidates 500 [--only tanh mish]

The corpus's hostile kernels are judged at `quick`, without a clock, again and again until there are
enough; all of one problem on one bench, as in a search, in an order that is shuffled for each bench. After
each, a good kernel of the same problem, one that passed before, is judged on that bench. At the end there
must be no process, file, lock, descriptor or mount of ours that was not there before, and no more memory in
this process. Appends a record for each candidate and one for the end to results/cpu/hostile.jsonl.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.corpus import CPU, bench_for
from benchmarks.corpus_kernels import CorpusKernel, corpus
from benchmarks.ledger import Ledger, key_of, out_dir
from benchmarks.remains import Remains
from kernelwright.core.problem import Problem
from kernelwright.evaluate import evaluate
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.verify.slots import Slots


def main() -> None:
    """Judge the candidates, then look for what is left."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--candidates", type=int, default=500)
    parser.add_argument("--only", nargs="*", default=[], help="parts of problem names")
    parser.add_argument("--results", type=Path, help="another ledger")
    options = parser.parse_args()
    ledger, begun = Ledger(options.results or out_dir("cpu") / "hostile.jsonl"), time.time()
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        remains = Remains(Path(folder))
        rows = []
        for number, row in enumerate(judged(options.candidates, options.only, remains)):
            ledger.append(key_of("hostile", begun, number), run=round(begun), number=number, **row)
            rows.append(row)
        found = remains.found()
    failed = [row for row in rows if row["next_good"] == "rejected"]
    summary = {
        "candidates": len(rows),
        "rejected": dict(Counter(row["kind"] for row in rows if row["verdict"] == "rejected")),
        "accepted": sum(row["verdict"] == "accepted" for row in rows),
        "good_ones_that_failed": len(failed),
        "without_a_good_one": sum(row["good"] is None for row in rows),
        "left": found,
        "seconds": round(time.time() - begun),
    }
    ledger.append(key_of("hostile", begun, "end"), run=round(begun), end=summary)
    print(summary)
    for row in failed:
        print(f"  after {row['kernel']}: {row['good']}: {row['next_good']}: {row['next_reason']}")


def judged(count: int, only: Sequence[str], remains: Remains) -> Iterator[dict[str, Any]]:
    """A row for each of `count` candidates, of problems with one of `only` in their names."""
    chosen = [one for one in corpus() if not only or any(word in one.problem.stem for word in only)]
    groups = [
        (key, list(group)) for key, group in groupby(chosen, key=lambda one: (one.problem, one.is_open))
    ]
    times = -(-count // sum(one.expected == "rejected" for _, group in groups for one in group))
    done = 0
    for (path, own_python), group in groups:
        series = [one for one in group if one.expected == "rejected"] * times
        Random(f"{path.stem} {own_python}").shuffle(series)
        if not series or done == count:
            continue
        problem = load_problem(path)
        with bench_for(problem, own_python) as bench:
            slots = Slots(bench)
            good = next((one for one in good_ones(path, own_python) if _passes(one, problem, slots)), None)
            for hostile in series[: count - done]:
                yield _row(hostile, good, problem, slots)
                remains.watch(bench.reference.pid, bench.candidate.pid, bench.opponents.pid)
                done += 1
        remains.settled()


def good_ones(path: Path, own_python: bool) -> list[CorpusKernel]:
    """Honest kernels of a problem: those of one trust first, and open ones only on benches for them."""
    found = [one for one in corpus() if one.expected == "accepted" and one.problem == path]
    return sorted(
        (one for one in found if own_python or not one.is_open), key=lambda one: one.is_open != own_python
    )


def _passes(one: CorpusKernel, problem: Problem, slots: Slots) -> bool:
    return _verdict(one, problem, slots)[0] == "accepted"


def _row(hostile: CorpusKernel, good: CorpusKernel | None, problem: Problem, slots: Slots) -> dict[str, Any]:
    """What became of a hostile kernel, and of the good one after it, where one passes at all."""
    begun = time.perf_counter()
    verdict, kind, _ = _verdict(hostile, problem, slots)
    between = time.perf_counter()
    after = _verdict(good, problem, slots) if good else (None, None, None)
    print(f"{hostile.name:44} {verdict} {kind or '':10} then {after[0]}", flush=True)
    return {
        "kernel": hostile.name,
        "verdict": verdict,
        "kind": kind,
        "seconds": round(between - begun, 2),
        "good": good and good.name,
        "next_good": after[0],
        "next_reason": after[2],
        "good_seconds": round(time.perf_counter() - between, 2) if good else None,
    }


def _verdict(one: CorpusKernel, problem: Problem, slots: Slots) -> tuple[str, str | None, str | None]:
    """Verdict, kind of reason, and its words."""
    kernel = read_kernel(one.path, problem, CPU)
    verdict = evaluate(problem, kernel, CPU, "quick", slots, baselines=[]).verdict
    assert verdict is not None
    reason = verdict.reason
    return verdict.verdict, reason and reason.kind, reason and f"{reason.gate}: {reason.message}"


if __name__ == "__main__":
    main()
