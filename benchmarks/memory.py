"""Peak memory of the process that runs `optimize`, beside the tensors of the problem.

    python -m benchmarks.memory --budget 10            appends to results/cpu/memory.jsonl

The problem's tensors live in the workers; what is measured is what the command itself takes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from benchmarks.ledger import Ledger, key_of, out_dir

PROBLEMS = Path(__file__).parents[1] / "examples" / "problems"
RUN = """
import json, resource, sys
import kernelwright as kw
found = kw.optimize(sys.argv[1], budget_s=float(sys.argv[2]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"peak_bytes": peak, "trials": found.report["trials"], "hash": found.problem.hash,
                  "tensor_bytes": found.problem.compulsory_bytes}))
"""


def main() -> None:
    """Optimize one example in a process of its own, and record its peak."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problem", default="rmsnorm_gelu")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of search")
    options = parser.parse_args()
    path = PROBLEMS / f"{options.problem}.py"
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(path), str(options.budget)],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout.splitlines()[-1])
    Ledger(out_dir("cpu") / "memory.jsonl").append(
        key_of("memory", options.problem, options.budget), problem=options.problem, **found
    )
    print(f"{options.problem}: peak {found['peak_bytes'] / 1e6:.0f} MB in the parent, "
          f"tensors {found['tensor_bytes'] / 1e6:.0f} MB, {found['trials']} trials")  # fmt: skip


if __name__ == "__main__":
    main()
