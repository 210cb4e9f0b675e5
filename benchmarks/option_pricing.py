"""Option pricing beside py_vollib, py_vollib_vectorized and fast-vollib: accuracy, and speed by size.

python -m benchmarks.option_pricing                  accuracy and speed; about ten minutes on two cores
python -m benchmarks.option_pricing --series 100000  fewer random options

Peers that are not installed are named in the records; `pip install 'kernelwright[option-pricing]'` brings
them. Speed is measured anew at every run; nothing is resumed, as ratios belong to one run.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.ledger import Ledger, key_of, out_dir
from kernelwright.core.target import Target
from kernelwright.measure.environment import environment
from kernelwright.workloads.option_pricing.benchmark import records
from kernelwright.workloads.option_pricing.pack import PACK


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--series", type=int, default=10_000_000, help="random options of the accuracy series"
    )
    options = parser.parse_args()
    ledger, run = Ledger(out_dir("cpu") / "option_pricing.jsonl"), round(time.time())
    for record in records(random_options=options.series):
        key = key_of(
            "option_pricing", run, *(record.get(part) for part in ("what", "series", "task", "options"))
        )
        facts = environment(Target.parse("cpu"))
        ledger.append(key, run=run, environment=facts, absent=PACK.absent_peers(), **record)
        print({name: value for name, value in record.items() if value}, flush=True)


if __name__ == "__main__":
    main()
