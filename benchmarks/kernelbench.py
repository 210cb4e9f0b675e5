"""KernelBench problems on a GPU: `optimize` each, append what it reports to the ledger, print the table.

    python -m benchmarks.kernelbench --root CLONE --describe DIR      describe problems (needs no GPU)
    python -m benchmarks.kernelbench --described DIR --budget 8       append to results/h200/kernelbench.jsonl
    python -m benchmarks.kernelbench --print

`CLONE` is the user's own clone of KernelBench; nothing of it is kept here but names and hashes. Resumes:
what is recorded for the same problem, column, budget and versions is skipped; `--seconds` says when no
further problem is begun. Convolutions are measured in both columns, because torch runs them in TF32.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from benchmarks.examples import print_table
from benchmarks.ledger import RESULTS, Ledger, key_of, out_dir
from kernelwright.core.problem import Problem

PROBLEMS = {
    1: (19, 21, 22, 23, 24, 25, 26, 29, 33, 34, 35, 36, 37, 38, 39, 40, 47, 48, 49, 53, 88, 94, 96),
    2: (1, 9, 12, 37, 40, 52, 57, 59, 86),
}
"""Level to numbers: activations, softmax, norms, reductions; products and convolutions with epilogues."""


def main() -> None:
    """Describe, measure or print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, help="clone of KernelBench")
    parser.add_argument("--describe", type=Path, metavar="DIR", help="write problem descriptions to DIR")
    parser.add_argument("--described", type=Path, metavar="DIR", help="measure the problems described in DIR")
    parser.add_argument("--only", nargs="*", help="as 1:19")
    parser.add_argument("--budget", type=float, default=8.0, help="seconds of search per problem")
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no problem later than this")
    parser.add_argument("--print", action="store_true", dest="print_only")
    options = parser.parse_args()
    wanted = [one for one in chosen() if not options.only or one in options.only]
    if options.describe:
        describe(options.root, options.describe, wanted)
        return
    ledger = Ledger(out_dir("h200") / "kernelbench.jsonl")
    if not options.print_only:
        measure(ledger, options.described, wanted, options.budget, options.seconds)
    print_table(newest(ledger.records()))


def chosen() -> list[str]:
    """Problems as `level:number`."""
    return [f"{level}:{number}" for level, numbers in PROBLEMS.items() for number in numbers]


def describe(root: Path, out: Path, wanted: list[str]) -> None:
    """Trace each problem on shapes alone and write what was found as JSON."""
    from kernelwright.problems import load_problem

    out.mkdir(parents=True, exist_ok=True)
    for one in wanted:
        level, number = one.split(":")
        (path,) = (root / "KernelBench" / f"level{level}").glob(f"{number}_*.py")
        file = out / f"{level}_{number}.json"
        if not file.exists():
            file.write_text(load_problem(str(path)).model_dump_json())
            print(f"{one} {path.stem}", flush=True)


def measure(ledger: Ledger, described: Path, wanted: list[str], budget_s: float, seconds: float) -> None:
    """Optimize what the ledgers do not hold yet."""
    begun = time.monotonic()
    kept = Ledger(RESULTS / "h200" / "kernelbench.jsonl")
    for one in wanted:
        problem = Problem.model_validate_json((described / f"{one.replace(':', '_')}.json").read_text())
        columns = ("as_shipped", "strict") if "conv" in problem.normalized.lower() else ("strict",)
        for column in columns:
            if time.monotonic() - begun < seconds:
                record((ledger, kept), one, problem, column, budget_s)


def record(ledgers: tuple[Ledger, Ledger], one: str, problem: Problem, column: str, budget_s: float) -> None:
    """Optimize one problem in one column and append its report."""
    import torch

    import kernelwright as kw

    key = key_of("kernelbench", problem.hash, column, budget_s, torch.__version__)
    if any(ledger.holds(key) for ledger in ledgers):
        return
    begun = time.monotonic()
    result = kw.optimize(problem, target="cuda", budget_s=budget_s, strict=column == "strict")
    gpu: dict[str, Any] = {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__}
    taken = round(time.monotonic() - begun, 1)
    ledgers[0].append(
        key,
        name=f"{one} {problem.name} {column}",
        report=result.report,
        kernel=result.kernel.model_dump(mode="json") if result.kernel else None,
        seconds=taken,
        **gpu,
    )
    best = result.report["best"]
    status = f"{best['speedup']['strongest']:.2f} {best['status']}" if best else "no kernel"
    print(f"{one} {problem.name} {column}: {status} {taken} s {result.report['notes']}", flush=True)


def newest(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last record of each problem and column."""
    return list({record["name"]: record for record in records}.values())


if __name__ == "__main__":
    main()
