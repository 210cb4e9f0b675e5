"""Option pricing beside py_vollib, py_vollib_vectorized and fast-vollib: accuracy, and speed by size.

python -m benchmarks.option_pricing                  accuracy and speed; about five minutes on one core
python -m benchmarks.option_pricing --series 100000  fewer random options
python -m benchmarks.option_pricing --target cuda    on a CUDA device (option_pricing_cuda.py); about a minute

Peers that are not installed are named in the records; `pip install 'kernelwright[option-pricing]'` brings
them. Speed is measured anew at every run; nothing is resumed, as ratios belong to one run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.ledger import Ledger, key_of, out_dir

Record = dict[str, Any]
DEVICE = ("price", "delta", "gamma", "theta", "volga", "color", "implied_volatility")
ORACLE = ("price", "delta", "gamma", "vega", "theta", "rho", "volatility", "round_trip")


def main() -> None:
    """Measure, print and record."""
    from kernelwright.core.target import Target
    from kernelwright.measure.environment import environment
    from kernelwright.workloads.option_pricing.pack import PACK

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--series", type=int, default=10_000_000, help="random options of the accuracy series"
    )
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu", help="where to price")
    options = parser.parse_args()
    folder = out_dir("cpu" if options.target == "cpu" else "h200")
    ledger, run = Ledger(folder / "option_pricing.jsonl"), round(time.time())
    parts = ("what", "series", "task", "options", "dtype")
    for record in measured(options.target, options.series):
        key = key_of("option_pricing", run, *(record.get(part) for part in parts))
        facts = environment(Target.parse(options.target))
        ledger.append(key, run=run, environment=facts, absent=PACK.absent_peers(), **record)
        print({name: value for name, value in record.items() if value}, flush=True)


def measured(target: str, random_options: int) -> Iterator[Record]:
    """Records of the CPU's or of the device's benchmark."""
    if target == "cuda":
        from benchmarks.option_pricing_cuda import records as on_device

        return on_device()
    from kernelwright.workloads.option_pricing.benchmark import records

    return records(random_options=random_options)


def table(records: list[Record]) -> list[str]:
    """Lines of three tables of the newest run: round trips, errors against 50 digits, speed beside peers."""
    last = [record for record in records if record["run"] == records[-1]["run"]]
    if any(record["what"] == "device" for record in last):
        return [*_on_device(last), *_device_speeds(last)]
    return [*_round_trips(last), *_errors(last), *_speeds(last)]


def _round_trips(records: list[Record]) -> list[str]:
    rows = [
        [row["series"], f"{row['options']:,}", f"{row['without_time_value']:,}",
         *(f"{row[name][part]:.2f}" for name in ("round_trip", "volatility") for part in ("p999", "worst"))]
        for row in records if row["what"] == "accuracy"
    ]  # fmt: skip
    head = ["series", "options", "without time value", "price again: 99.9 %", "worst", "volatility: 99.9 %",
            "worst"]  # fmt: skip
    unit = (
        "Price again is in units of ulp(price) + vega ulp(volatility) / 2 and has the errors of three calls;"
    )
    return [f"{unit} volatility in units of eps (volatility + price / vega).\n", *_lines(head, rows)]


def _errors(records: list[Record]) -> list[str]:
    rows = [
        [row["series"], row["options"],
         *(f"{row[name]['median']:.2f}, {row[name]['worst']:.1f}" for name in ORACLE)]
        for row in records if row["what"] == "oracle"
    ]  # fmt: skip
    head = ["series", "options", *(name.replace("_", " ") for name in ORACLE)]
    unit = (
        "\nAgainst 50 digits, median and worst: results in units of eps, the last two in the units above.\n"
    )
    return [unit, *_lines(head, rows)]


def _speeds(records: list[Record]) -> list[str]:
    rows = []
    for row in (record for record in records if record["what"] == "speed"):
        own = row["us"]["kernelwright"]
        fast = [name for name in row["us"] if name.startswith("fast_vollib")]
        best = min(fast, key=lambda name: row["us"][name], default=None)
        cells = [_ratio(row, name) for name in ("py_vollib", "py_vollib_vectorized", best)]
        rows.append(
            [row["task"].replace("_", " "), f"{row['options']:,}", f"{own:,.1f}", *cells, best or "none"]
        )
    head = [
        "task",
        "options",
        "us",
        "py_vollib",
        "py_vollib_vectorized",
        "fast_vollib",
        "its fastest way here",
    ]
    unit = "\nTime of a call, and how many times longer each peer takes (95 % interval).\n"
    return [unit, *_lines(head, rows)]


def _on_device(records: list[Record]) -> list[str]:
    rows = [
        [row["series"], row["dtype"], f"{row['options']:,}",
         *(f"{row[name]['p999']:.1f}, {row[name]['worst']:.0f}" for name in DEVICE)]
        for row in records if row["what"] == "accuracy"
    ]  # fmt: skip
    head = ["series", "type", "options", *(name.replace("_", " ") for name in DEVICE)]
    unit = "On the GPU and on the CPU: differences in units of eps of the value, 99.9 % and worst.\n"
    return [unit, *_lines(head, rows)]


def _device_speeds(records: list[Record]) -> list[str]:
    rows = []
    for row in (record for record in records if record["what"] == "speed"):
        peers = ", ".join(f"{name.removeprefix('fast_vollib ')} {x:.2f}x" for name, x in row["ratio"].items())
        walls = ", ".join(f"{name} {x:.2f}x" for name, x in row["wall_ratio"].items())
        rows.append([
            row["task"].replace("_", " "), row["dtype"], f"{row['options']:,}",
            f"{row['kernel_us']['kernelwright']:,.1f}", f"{100 * row['share_of_floor']:.0f} %",
            peers or "none", f"{row['wall_us']['kernelwright']:,.0f}", walls or "none",
        ])  # fmt: skip
    head = ["task", "type", "options", "kernel us", "of the floor", "fast_vollib's kernels take", "wall us",
            "others take"]  # fmt: skip
    unit = (
        "\nKernel time by events; wall time with copies from and to the host. Times of others as multiples.\n"
    )
    return [unit, *_lines(head, rows)]


def _ratio(row: Record, name: str | None) -> str:
    if name is None or name not in row["ratio"]:
        return "failed" if name in row["failed"] else "not run"
    low, high = row["ratio_ci"][name]
    return f"{row['ratio'][name]:.2f}x ({low:.2f} to {high:.2f})"


def _lines(head: list[str], rows: list[list[Any]]) -> list[str]:
    return [f"| {' | '.join(map(str, line))} |" for line in (head, ["---"] * len(head), *rows)]


if __name__ == "__main__":
    main()
