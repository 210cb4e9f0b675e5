"""Judge the whole corpus: which honest kernels are rejected, and which hostile ones accepted?

    python -m benchmarks.corpus --rounds 3 [--only softmax hostile/] [--results FILE]

Each round has draws of its own. A kernel is judged at `full` without a clock and then under one: an
honest one in the first round, for as long as a single comparison takes; a hostile one that got so far in
each, at last for as long as the best kernel of a search. Appends to results/cpu/corpus.jsonl; kernels that
it holds for a round, under the same hashes and versions, are not judged again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.corpus_kernels import CorpusKernel, corpus
from benchmarks.ledger import Ledger, key_of, out_dir
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import Verdict
from kernelwright.evaluate import evaluate
from kernelwright.execute.bench import Bench
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.sandbox import Limits
from kernelwright.verify.slots import Slots

CPU = Target.parse("cpu")
PROCESSES = 8
"""Child processes that an open kernel may have at once."""
TIMEOUT_S, COMPILING_S = 5.0, 120.0
"""Longest that one action of a kernel may take; of an open one that compiles."""
OUT_OF_REACH = 1e6
"""A best speed-up that no kernel can reach: one comparison decides, and timing ends there."""


@dataclass(frozen=True)
class Judged:
    """What became of a kernel."""

    verdict: Verdict
    timed: bool
    """Whether it got as far as the clock."""
    seconds: float


def judge(one: CorpusKernel, problem: Problem, slots: Slots, *, clock: bool = True) -> Judged:
    """Judge a kernel at `full`, and with `clock` under the clock if it passes."""
    begun = time.perf_counter()
    kernel = read_kernel(one.path, problem, CPU)
    untimed = evaluate(problem, kernel, CPU, "full", slots, baselines=[])
    assert untimed.verdict is not None
    timed = clock and untimed.verdict.verdict == "accepted"
    last = _timed(one, problem, kernel, slots, untimed.build) if timed else untimed
    assert last.verdict is not None
    return Judged(last.verdict, timed, time.perf_counter() - begun)


def _timed(one: CorpusKernel, problem: Problem, kernel: Kernel, slots: Slots, build: Build) -> Evaluation:
    """Under the clock: an honest kernel for a single comparison, a hostile one until it is found out."""
    timed = partial(evaluate, problem, kernel, CPU, slots=slots, build=build, baselines=["eager"])
    if one.expected == "accepted":
        return timed("quick", incumbent=OUT_OF_REACH)
    quick = timed("quick")
    assert quick.verdict is not None
    return quick if quick.verdict.verdict == "rejected" else timed("full")


def as_expected(one: CorpusKernel, verdict: Verdict) -> bool:
    """Whether the verdict is the expected one, a rejection for one of the expected kinds."""
    if verdict.verdict != one.expected:
        return False
    return verdict.reason is None or verdict.reason.kind in one.kinds


@contextmanager
def bench_for(problem: Problem, own_python: bool) -> Iterator[Bench]:
    """A bench of this problem, with the limits that the kernels are judged under."""
    limits = Limits.candidate(processes=PROCESSES) if own_python else None
    timeout_s = COMPILING_S if own_python else TIMEOUT_S
    with Bench.open(problem, problem.base, CPU, limits, timeout_s=timeout_s) as bench:
        yield bench


def main() -> None:
    """Judge what the ledger does not hold, then print what went wrong."""
    options = _options()
    ledger = Ledger(options.results or out_dir("cpu") / "corpus.jsonl")
    chosen = [
        one for one in corpus() if not options.only or any(word in _label(one) for word in options.only)
    ]
    keys: set[str] = set()
    for (path, own_python), group in groupby(chosen, key=lambda one: (one.problem, one.is_open)):
        keys |= _judge_all(load_problem(path), own_python, list(group), options.rounds, ledger)
    report([record for record in ledger.records() if record["key"] in keys])


def _judge_all(
    problem: Problem, own_python: bool, group: Sequence[CorpusKernel], rounds: int, ledger: Ledger
) -> set[str]:
    """Judge what is missing of these kernels, each round on draws of its own; keys of all their records."""
    keys = {(number, one): _key(one, problem, number) for number in range(rounds) for one in group}
    missing = [pair for pair, key in keys.items() if not ledger.holds(key)]
    if missing:
        with bench_for(problem, own_python) as bench:
            for number, pairs in groupby(missing, key=lambda pair: pair[0]):
                slots = Slots(bench)
                for pair in pairs:
                    one = pair[1]
                    clock = number == 0 or one.expected == "rejected"
                    found = judge(one, problem, slots, clock=clock)
                    ledger.append(keys[pair], round=number, **row(one, found))
    return set(keys.values())


def row(one: CorpusKernel, found: Judged) -> dict[str, Any]:
    """A record of the ledger."""
    reason = found.verdict.reason
    line = {
        "kernel": one.name,
        "problem": one.problem.stem,
        "expected": one.expected,
        "verdict": found.verdict.verdict,
        "as_expected": as_expected(one, found.verdict),
        "reason": reason and {"gate": reason.gate, "kind": reason.kind, "message": reason.message},
        "timed": found.timed,
        "seconds": round(found.seconds, 2),
    }
    gate, mark = reason.gate if reason else "", "" if line["as_expected"] else "  <-- not as expected"
    print(f"{one.name:46} {found.verdict.verdict} {gate:10} {found.seconds:5.1f} s{mark}", flush=True)
    return line


def report(records: Sequence[dict[str, Any]]) -> None:
    """Print counts, false rejections, false acceptances, and rejections for another reason."""
    honest = [each for each in records if each["expected"] == "accepted"]
    hostile = [each for each in records if each["expected"] == "rejected"]
    _listed("false rejections", [each for each in honest if each["verdict"] != "accepted"], len(honest))
    _listed("false acceptances", [each for each in hostile if each["verdict"] != "rejected"], len(hostile))
    others = [each for each in hostile if each["verdict"] == "rejected" and not each["as_expected"]]
    _listed("rejections for another reason", others, len(hostile))


def _listed(title: str, records: Sequence[dict[str, Any]], of: int) -> None:
    print(f"{title}: {len(records)} of {of}")
    for each in records:
        print(f"  round {each['round']}  {each['kernel']} on {each['problem']}: {each['reason']}")


def _key(one: CorpusKernel, problem: Problem, number: int) -> str:
    return key_of("corpus", problem.hash, one.path.read_text(), number)


def _label(one: CorpusKernel) -> str:
    return f"{one.problem.stem} {one.name}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="parts of problem or kernel names")
    parser.add_argument("--results", type=Path, help="another ledger")
    return parser.parse_args()


if __name__ == "__main__":
    main()
