"""Best of many copies: the fastest of 200 that are all eager, judged again, must not look faster than eager.

    python -m benchmarks.best_of --target cpu --searches 20 --copies 200

What a search does with its winner: each copy gets one quick series, cut short where it cannot reach the best
so far; the copy that looked best is timed again in fresh processes, on fresh draws and by the rule of a
final judgement. The quick ratio of the winner says how much of a win noise alone makes of 200 looks, the
final one how much of it is left. Resumable: numbered searches that the ledger holds are not run again.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

import torch

from benchmarks.aa import SHAPES, itself
from benchmarks.ledger import Ledger, key_of, out_dir
from kernelwright.core.measurement import Measurement
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.execute.bench import Bench
from kernelwright.measure.environment import environment
from kernelwright.measure.paired import paired
from kernelwright.measure.stopping import RULES
from kernelwright.problems import load_problem
from kernelwright.verify.fresh import FreshContents
from kernelwright.verify.slots import Slots

BASELINES = ["eager"]


def main() -> None:
    """Run the searches that are missing, then print what their winners came to."""
    options = _options()
    target = Target.parse(options.target)
    ledger = Ledger(out_dir("cpu" if target.name == "cpu" else "h200") / "best_of.jsonl")
    problem = load_problem(torch.nn.ReLU(), inputs=(torch.rand(*SHAPES[target.name]),))
    keys = [key_of("best_of", target.name, options.copies, number) for number in range(options.searches)]
    for number, key in enumerate(keys):
        if not ledger.holds(key):
            began = time.monotonic()
            found = _search(problem, target, options.copies)
            seconds = round(time.monotonic() - began, 1)
            ledger.append(key, search=number, copies=options.copies, seconds=seconds, **found)
    _report(ledger, set(keys))


def _search(problem: Problem, target: Target, copies: int) -> dict[str, Any]:
    """The best of `copies` series, and its final judgement."""
    facts = environment(target)
    with Bench.open(problem, target=target) as bench:
        ratios = _looks(bench, copies)
        final = _final(bench)
    return {
        "winner_ratio": round(max(ratios), 5),
        "median_ratio": round(sorted(ratios)[len(ratios) // 2], 5),
        **_summary(final),
        "environment": facts,
    }


def _looks(bench: Bench, copies: int) -> list[float]:
    """The ratio of each copy's quick series."""
    slots, subject = Slots(bench), itself(bench)
    ratios: list[float] = []
    incumbent: float | None = None
    for _ in range(copies):
        found = paired(
            bench, subject, BASELINES, slots.timed(), RULES["quick"],
            incumbent=incumbent, witness=_witness(slots, whole=False),
        )  # fmt: skip
        speedup = found.speedups[0]
        ratios.append(speedup.ratio)
        incumbent = max(incumbent or 0.0, speedup.ci[0])
    return ratios


def _final(bench: Bench) -> Measurement:
    """A final judgement: nothing of the looks before is left."""
    bench.renew()
    slots = Slots(bench)
    subject = itself(bench)
    return paired(
        bench, subject, BASELINES, slots.timed(), RULES["full"],
        witness=_witness(slots, whole=True), reload=lambda: itself(bench),
    )  # fmt: skip


def _witness(slots: Slots, *, whole: bool) -> FreshContents | None:
    return FreshContents(slots, whole=whole) if slots.bench.device == "cpu" else None


def _summary(found: Measurement) -> dict[str, Any]:
    speedup = found.speedups[0]
    return {
        "status": found.status,
        "why": found.status_reason,
        "ratio": round(speedup.ratio, 5),
        "ci": [round(end, 5) for end in speedup.ci],
        "latency_us": [round(one.latency_us, 2) for one in (found.kernel, *found.baselines)],
        "clock": found.clock,
        "stopping": found.stopping,
    }


def _report(ledger: Ledger, keys: set[str]) -> None:
    rows = [record for record in ledger.records() if record["key"] in keys]
    for row in rows:
        low, high = row["ci"]
        print(
            f"search {row['search']:3}: winner looked {row['winner_ratio']:.3f}x, judged {row['ratio']:.3f}x "
            f"[{low:.3f}, {high:.3f}] {row['status']}"
        )
    print(f"{len(rows)} searches: {dict(Counter(row['status'] for row in rows))}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", default="cpu", help="cpu, cuda or cuda:sm_90")
    parser.add_argument("--searches", type=int, default=20)
    parser.add_argument("--copies", type=int, default=200)
    return parser.parse_args()


if __name__ == "__main__":
    main()
