"""The twelve example problems: `optimize` each, record what it reports, print the table.

    python -m benchmarks.examples --budget 60            appends to results/cpu/examples.jsonl
    python -m benchmarks.examples --print                the table of what is recorded

Resumes: a problem that is recorded for the same hash, budget, contract and method is skipped
(`--again` measures it anew; the table shows the newest record of each problem).
"""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.ledger import Ledger, key_of, out_dir

PROBLEMS = Path(__file__).parents[1] / "examples" / "problems"


def main() -> None:
    """Run what is missing, then print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of search per problem")
    parser.add_argument("--only", nargs="*", help="names of problems")
    parser.add_argument("--again", action="store_true", help="measure what is recorded once more")
    parser.add_argument("--print", action="store_true", dest="print_only")
    options = parser.parse_args()
    ledger = Ledger(out_dir("cpu" if options.target == "cpu" else "h200") / "examples.jsonl")
    if not options.print_only:
        for path in sorted(PROBLEMS.glob("*.py")):
            if options.only is None or path.stem in options.only:
                record(ledger, path, options.target, options.budget, options.again)
    print_table(newest(ledger.records()))


def record(ledger: Ledger, path: Path, target: str, budget_s: float, again: bool) -> None:
    """Optimize one problem and append its report."""
    import torch

    import kernelwright as kw

    problem = kw.load_problem(str(path))
    stamp = time.time() if again else None
    key = key_of("examples", problem.hash, target, budget_s, torch.__version__, stamp)
    if ledger.holds(key):
        return
    begun = time.monotonic()
    result = kw.optimize(str(path), target=target, budget_s=budget_s)
    ledger.append(
        key,
        name=path.stem,
        report=result.report,
        torch=torch.__version__,
        cores=os.cpu_count(),
        total_seconds=round(time.monotonic() - begun, 1),
    )
    print(f"{path.stem}: {time.monotonic() - begun:.0f} s", flush=True)


def newest(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last record of each problem."""
    return list({record["name"]: record for record in records}.values())


def print_table(records: list[dict[str, Any]]) -> None:
    """One row per problem, then the counts and the geometric mean over the strongest baseline."""
    ratios, statuses = [], []
    head = ("problem", "kernel us", "strongest", "ratio", "95 %", "floor")
    print("{:24s} {:>12s} {:>26s} {:>7s} {:>16s} {:>6s}  status".format(*head))
    for record in records:
        best = record["report"]["best"]
        if best is None:
            print(f"{record['name']:24s} no verified kernel")
            statuses.append("none")
            continue
        ratio, (low, high) = best["speedup"]["strongest"], best["speedup_ci"]["strongest"]
        floor = best.get("floor_share")
        print(
            f"{record['name']:24s} {best['latency_us']:12,.0f} {best.get('strongest', ''):>26s} {ratio:7.2f} "
            f"{low:7.3f}..{high:7.3f} {'-' if floor is None else f'{100 * floor:.0f} %':>6s}"
            f"  {best['status']}"
        )
        ratios.append(ratio)
        statuses.append(best["status"])
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        counts = ", ".join(f"{statuses.count(name)} {name}" for name in dict.fromkeys(statuses))
        print(f"{len(records)} problems: {counts}; geometric mean {mean:.2f}")


if __name__ == "__main__":
    main()
