"""The page `results/README.md`: what each ledger is, and its records as a table.

`make docs` writes it, and `make check` says when a ledger has changed since. Every number on the page is a
field of a record, or counted from records. A ledger that no function here knows is listed without a table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from itertools import product
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from benchmarks.datatypes import table as datatypes
from benchmarks.examples import newest
from benchmarks.ledger import RESULTS, Ledger
from benchmarks.option_pricing import table as option_pricing
from kernelwright.core.measurement import METHOD_VERSION
from kernelwright.core.problem import CONTRACT_VERSION
from kernelwright.core.wire import content_hash

Record = dict[str, Any]
HEAD = """# Results

One section for each ledger in this folder. A ledger is JSON lines that a benchmark wrote; each line carries
the command that made it. Versions are those of the precision contract and of the measuring method in force
then. Neither times and ratios of different machines nor rows of different versions are comparable.

A speed-up is the time of the strongest baseline over the kernel's, with its 95 % interval; statuses are
those of [concepts](../docs/concepts.md). How times are taken: [measurement](../docs/design/measurement.md).
"""
FALSE_ALARMS = ("won", "behind")


def page(results: Path = RESULTS) -> str:
    """The text of the page."""
    parts = [HEAD.rstrip()]
    for path in sorted(results.glob("*/*.jsonl")):
        records = Ledger(path).records()
        if records:
            parts += _section(path, records)
    return "\n".join(parts) + "\n"


def _section(path: Path, records: list[Record]) -> list[str]:
    where = f"{path.parent.name}/{path.name}"
    title, table = SECTIONS.get(path.stem, (path.stem, None))
    commands = [f"`{each}`" for each in dict.fromkeys(record["command"] for record in records)]
    lines = [
        f"\n## {title}: {path.parent.name}\n",
        f"- ledger: [`{where}`]({where}), {len(records)} record{'s' * (len(records) > 1)}, {_dates(records)}",
        f"- command: {'; '.join(commands)}",
        f"- machine: {_distinct(_machine(record) for record in records)}",
        f"- versions: {_distinct(_versions(record) for record in records)}\n",
    ]
    return [*lines, *(table(records) if table else [])]


def speedups(records: list[Record]) -> list[str]:
    """A row for each problem, of its newest record, then counts and the geometric mean."""
    rows, ratios, statuses = [], [], Counter[str]()
    for record in newest(records):
        best = record["report"]["best"]
        statuses[best["status"] if best else "no verified kernel"] += 1
        if best is None:
            rows.append([record["name"], "", "", "", "", "no verified kernel", "", _versions(record)])
            continue
        ratio, ends = best["speedup"]["strongest"], best["speedup_ci"]["strongest"]
        floor = best["floor_share"]
        ratios.append(ratio)
        rows.append([
            record["name"], best.get("strongest", ""), f"{best['latency_us']:,.1f}", f"{ratio:.2f}x",
            f"{ends[0]:.3f} to {ends[1]:.3f}" if ends else "", best["status"],
            "" if floor is None else f"{100 * floor:.0f} %", _versions(record),
        ])  # fmt: skip
    head = [
        "problem",
        "strongest",
        "kernel us",
        "speed-up",
        "95 % interval",
        "status",
        "of the floor",
        "versions",
    ]
    mean = f"; geometric mean of the speed-ups {geometric_mean(ratios):.2f}x" if ratios else ""
    return [*_table(head, rows), f"\n{len(rows)} problems: {_counts(statuses)}{mean}."]


def same_against_itself(records: list[Record]) -> list[str]:
    """How often eager against itself came out as a difference."""
    statuses = Counter(record["status"] for record in records)
    alarms = sum(statuses[status] for status in FALSE_ALARMS)
    apart = sorted(abs(record["ratio"] - 1) for record in records)
    row = [len(records), alarms, _counts(statuses), f"{median(apart):.4f}", f"{apart[-1]:.4f}"]
    head = [
        "series",
        "false alarms (won or behind)",
        "by status",
        "ratio's distance from 1, median",
        "largest",
    ]
    return _table(head, [row])


def corpus(records: list[Record]) -> list[str]:
    """Verdicts beside those expected, a rejection for its own reason; the newest of each kernel and round."""
    last = list({(record["kernel"], record["round"]): record for record in records}.values())
    rows = []
    for name, expected in (("honest", "accepted"), ("hostile", "rejected")):
        some = [record for record in last if record["expected"] == expected]
        wrong = sorted({f"`{record['kernel']}`" for record in some if not record["as_expected"]})
        kernels = len({record["kernel"] for record in some})
        rows.append([name, kernels, len(some), expected, len(some) - sum(r["as_expected"] for r in some),
                     ", ".join(wrong) or "none"])  # fmt: skip
    kinds = Counter(record["reason"]["kind"] for record in last if record["reason"])
    head = ["kernels", "how many", "verdicts", "expected", "not as expected", "which"]
    return [*_table(head, rows), f"\nRejections by kind: {_counts(kinds)}."]


def hostile(records: list[Record]) -> list[str]:
    """The end of each series of hostile kernels."""
    rows = []
    for end in (record["end"] for record in records if "end" in record):
        left = "; ".join(
            f"{key.replace('_', ' ')}: {_listed(item)}" for key, item in end["left"].items() if item
        )
        rows.append([end["candidates"], _counts(Counter(end["rejected"])), end["accepted"],
                     end["good_ones_that_failed"], left or "nothing"])  # fmt: skip
    return _table(
        ["hostile kernels", "rejected", "accepted", "good kernels that failed after one", "left"], rows
    )


def service(records: list[Record]) -> list[str]:
    """What became of queued verdicts."""
    names = ["verdicts", "lost", "duplicated", "unjudged", "clients_killed", "verdicts_per_minute", "wall_s"]
    return _table(
        [name.replace("_", " ") for name in names], [[row[name] for name in names] for row in records]
    )


def memory(records: list[Record]) -> list[str]:
    """Peak of the process that searches."""
    rows = [
        [row["problem"], f"{row['peak_bytes'] / 1e6:.0f}", f"{row['tensor_bytes'] / 1e6:.0f}"]
        for row in records
    ]
    return _table(["problem", "peak of the parent MB", "tensors of the problem MB"], rows)


def startup(records: list[Record]) -> list[str]:
    """Medians of fresh processes."""
    rows = [
        [f"`{row['name']}`", f"{median(row['seconds']):.3f}", f"{max(row['seconds']):.3f}"] for row in records
    ]
    return _table(["what", "median s", "largest s"], rows)


def verdicts(records: list[Record]) -> list[str]:
    """How fast kernels are judged at `quick`, beside KernelBench's own evaluation where it was run."""
    rows = []
    for row in records:
        other = row.get("kernelbench")
        rows.append([row["name"], row["kernels"], f"{row['verdicts_per_minute']:.0f}",
                     f"{row['seconds']['accepted']['median']:.3f}",
                     f"{median(other['seconds']):.3f}" if other else "not run"])  # fmt: skip
    return _table(["problem", "kernels", "verdicts a minute", "an accepted one s, median",
                   "KernelBench's evaluation s, median"], rows)  # fmt: skip


def models(records: list[Record]) -> list[str]:
    """A row for each model, of its newest record: what stayed in, and the whole beside its baselines."""
    rows = []
    for record in {record["name"]: record for record in records}.values():
        whole = record["report"].get("whole")
        row = [record["name"], len(record["sites"]), record["against"]]
        if whole is None:
            rows.append([*row, "", "", "", "no part has a faster kernel", _versions(record)])
            continue
        strongest = whole["strongest"]
        low, high = whole["speedup_ci"][strongest]
        rows.append([
            *row, f"{whole['latency_us']['kernels']:,.0f}", f"{whole['speedup']['eager']:.2f}x",
            f"{whole['speedup'][strongest]:.2f}x over {strongest}, {low:.3f} to {high:.3f}",
            whole["status"] if record["sites"] else f"{whole['status']}; left alone", _versions(record),
        ])  # fmt: skip
    head = [
        "model",
        "sites",
        "kept against",
        "us a call",
        "over eager",
        "over the strongest",
        "status",
        "versions",
    ]
    return _table(head, rows)


def model_zoo(records: list[Record]) -> list[str]:
    """A row for each family and mode, of the newest record of each model; then the faults by name."""
    last = {(*_mode(row), row["name"]): row for row in records}.values()
    rows = []
    for family, mode in sorted({_mode(row) for row in last}):
        some = [row for row in last if _mode(row) == (family, mode)]
        kinds = Counter(row["outcome"] for row in some)
        rows.append([
            family, mode, len(some), kinds["kernels"], kinds["left alone"], kinds["fault"],
            sum(len(row.get("sites", ())) for row in some), sum(row.get("answered", 0) for row in some),
        ])  # fmt: skip
    faults = sorted(f"{row['name']} ({row['said'][:120]})" for row in last if row["outcome"] == "fault")
    head = [
        "models of",
        "search",
        "models",
        "with kernels",
        "left alone",
        "faults",
        "sites",
        "calls answered",
    ]
    return [
        *_table(head, rows),
        f"\nFaults: {'; '.join(faults) or 'none'}. Without search, first kernels stand in, untimed,",
        "for so many kinds of parts; with it, kernels stay only where the whole is faster.",
    ]


def _mode(row: Record) -> tuple[str, str]:
    """Family, and seconds of search or how many kinds of parts had a kernel without."""
    search = f"{row['search_s']:g} s" if row["search_s"] else f"none, {row['groups']} kinds of parts"
    return row["family"], search


def guarded_call(records: list[Record]) -> list[str]:
    """A row for each module of the newest record, and what a kernel's place costs beyond a call of torch."""
    newest_one = records[-1]
    rows = [
        [name, f"{row['median_us']:.1f}", f"{row['p95_us']:.1f}"] for name, row in newest_one["rows"].items()
    ]
    table = _table(["module", "median us", "95th percentile us"], rows)
    return [*table, f"\nBeyond a call of torch: {newest_one['beyond_us']:.1f} us."]


def model_calls(records: list[Record]) -> list[str]:
    """A row for each series of random calls."""
    names = ["calls", "answered", "raised", "slower", "disagreed"]
    rows = [
        [row["seed"], *(row["counts"].get(name, 0) for name in names), row["wrong"], _versions(row)]
        for row in records
    ]
    head = ["seed", "calls", "by kernels", "raising in both", "after a slower kernel's retreat",
            "after one that disagreed", "wrong answers", "versions"]  # fmt: skip
    return _table(head, rows)


SECTIONS: dict[str, tuple[str, Callable[[list[Record]], list[str]]]] = {
    "aa": ("Eager against itself", same_against_itself),
    "corpus": ("Honest and hostile kernels", corpus),
    "datatypes": ("MPI datatypes beside MPI libraries", datatypes),
    "examples": ("Example problems", speedups),
    "guarded_call": ("Call of a part with a kernel", guarded_call),
    "hostile": ("Many hostile kernels in a row", hostile),
    "kernelbench": ("KernelBench problems", speedups),
    "memory": ("Memory of a search", memory),
    "option_pricing": ("Option pricing beside other libraries", option_pricing),
    "service": ("Verdicts of the service", service),
    "startup": ("Start of the command", startup),
    "model_calls": ("Random calls of parts with kernels", model_calls),
    "model_zoo": ("Models of others, put through", model_zoo),
    "models": ("Whole models in place", models),
    "verdicts": ("Verdicts on a GPU", verdicts),
}


def _table(head: list[str], rows: Iterable[list[Any]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines]


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none"


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _distinct(found: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(found))


def _versions(record: Record) -> str:
    """The versions that a record was made under: its own fields, or those that give its key."""
    found = [(record["contract_version"], record["method_version"])] if "method_version" in record else []
    if not found and "report" in record:
        parts = _key_parts(record)
        pairs = product(range(1, CONTRACT_VERSION + 1), range(1, METHOD_VERSION + 1))
        found = [pair for pair in pairs if content_hash([*parts, *pair]) == record["key"]]
    return "contract {}, method {}".format(*found[0]) if found else "not recorded"


def _key_parts(record: Record) -> list[Any]:
    """What `examples` and `kernelbench` make a record's key of, beside the versions."""
    problem, budget = record["report"]["problem"]["hash"], re.search(r"--budget (\S+)", record["command"])
    seconds = float(budget[1]) if budget else None
    if "kernelbench" in record["command"]:
        return ["kernelbench", problem, record["name"].split()[-1], seconds, record["torch"]]
    return ["examples", problem, record["report"]["target"], seconds, record["torch"], None]


def _dates(records: list[Record]) -> str:
    days = [datetime.fromtimestamp(record["time"], timezone.utc).date().isoformat() for record in records]
    return min(days) if min(days) == max(days) else f"{min(days)} to {max(days)}"


def _machine(record: Record) -> str:
    """Processor, cores, GPU, driver and torch, as far as the record tells."""
    had = record.get("environment", {})
    gpu = had.get("gpu") or {}
    cores = had.get("cores") or record.get("cores")
    torch = had.get("versions", {}).get("torch") or record.get("torch")
    parts = [
        had.get("cpu"),
        f"{cores} cores" if cores else None,
        gpu.get("name") or record.get("gpu"),
        f"driver {gpu['driver']}" if gpu.get("driver") else None,
        f"torch {torch}" if torch else None,
    ]
    return ", ".join(part for part in parts if part) or "not recorded"
