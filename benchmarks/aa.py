"""A/A series: eager against itself through the whole paired path. How often does nothing look like something?

    python -m benchmarks.aa --target cpu --series 1000
    python -m benchmarks.aa --target cuda --series 300

Every series is what the search does with one kernel: rotating slots, new contents, flushes, sentinels,
the clock, the rule, the statistics, the status. On a CPU the reference stands in for the kernel in the
candidate's worker, so that two processes are compared, as they are for a kernel. The workers are
replaced every `--renew` series, since what two processes differ by does not average out within them.
Resumable: numbered series that the ledger holds are not run again.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
from collections import Counter, defaultdict
from statistics import fmean, variance
from typing import Any

import torch

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

RULE = dataclasses.replace(RULES["quick"], name="aa", max_seconds=0.5, max_discarded=2)
SHAPES = {"cpu": (2048, 8192), "cuda": (8192, 8192)}
"""Input of the ReLU: about 6 ms on two cores, more than the outside clock resolves; 130 us on an H200."""
CLAIMS = ("won", "behind")


def main() -> None:
    """Run the series that are missing, then print how often each status came out."""
    options = _options()
    target = Target.parse(options.target)
    where = options.results or ("cpu" if target.name == "cpu" else "h200")
    ledger = Ledger(out_dir(where) / "aa.jsonl")
    problem = load_problem(torch.nn.ReLU(), inputs=(torch.rand(*SHAPES[target.name]),))
    keys = {
        number: key_of("aa", target.name, RULE.describe("", 0), number) for number in range(options.series)
    }
    missing = [number for number in keys if not ledger.holds(keys[number])]
    started = time.monotonic()
    for first in range(0, len(missing), options.renew):
        _some(problem, target, {n: keys[n] for n in missing[first : first + options.renew]}, ledger)
    _report(ledger, set(keys.values()), time.monotonic() - started)


def _some(problem: Problem, target: Target, keys: dict[int, str], ledger: Ledger) -> None:
    """These series, in one pair of fresh workers."""
    facts = environment(target)
    with Bench.open(problem, target=target) as bench:
        slots = Slots(bench)
        witness = FreshContents(slots) if bench.device == "cpu" else None
        timed, subject = slots.timed(), itself(bench)
        for number, key in keys.items():
            found = paired(bench, subject, ["eager"], timed, RULE, witness=witness)
            ledger.append(key, series=number, pair=bench.candidate.pid, **_summary(found), environment=facts)


def itself(bench: Bench) -> str:
    """Name of a subject that is eager, beside the baseline that is eager."""
    if bench.device == "cpu":
        bench.candidate.call("kernelwright.measure.host_ops:stand_in")
        return "kernel"
    bench.baseline("eager")
    bench.opponents.call("kernelwright.measure.device_ops:alias", name="itself", of="eager")
    return "itself"


def _summary(found: Measurement) -> dict[str, Any]:
    speedup = found.speedups[0]
    return {
        "status": found.status,
        "ratio": round(speedup.ratio, 5),
        "ci": [round(end, 5) for end in speedup.ci],
        "latency_us": [round(one.latency_us, 2) for one in (found.kernel, *found.baselines)],
        "clock": found.clock,
        "resolution_us": found.resolution_us,
        "stopping": found.stopping,
        "process": found.environment["series"][0],
    }


def _report(ledger: Ledger, keys: set[str], seconds: float) -> None:
    rows = [record for record in ledger.records() if record["key"] in keys]
    counts = Counter(row["status"] for row in rows)
    alarms = sum(counts[status] for status in CLAIMS)
    spread = sorted(abs(row["ratio"] - 1) for row in rows)
    print(f"{len(rows)} series in {ledger.path}: {dict(counts)}; false alarms: {alarms}")
    print(f"distance of the ratio from 1: median {spread[len(spread) // 2]:.4f}, largest {spread[-1]:.4f}")
    print(f"standard deviation of log-ratios between worker pairs: {_between(rows)}")
    print(f"this run took {seconds:.1f} s")


def _between(rows: list[dict[str, Any]]) -> str:
    """Standard deviation of the pairs' mean log-ratio, less what series within a pair scatter by."""
    pairs: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in rows:
        pairs[row["command"], row["pair"]].append(math.log(row["ratio"]))
    several = [logs for logs in pairs.values() if len(logs) > 1]
    if len(several) < 2:
        return "needs two pairs of several series"
    seen = variance(fmean(logs) for logs in several)
    within = fmean(variance(logs) / len(logs) for logs in several)
    return f"{math.sqrt(max(seen - within, 0.0)):.4f} from {len(several)} pairs"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", default="cpu", help="cpu, cuda or cuda:sm_90")
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--renew", type=int, default=100, help="series in one pair of workers")
    parser.add_argument("--results", help="folder under results/ (default: cpu or h200)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
