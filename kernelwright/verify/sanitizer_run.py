"""A process that compute-sanitizer watches: runs one kernel at some sizes, on drawn inputs, and ends.

    compute-sanitizer --tool memcheck python -m kernelwright.verify.sanitizer_run JOB.json

What it finds is in the tool's log; a kernel that is refused or fails is said on stderr, with exit status 1.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kernelwright.execute import ops

DRAWS = ("file", "nonfinite")


def main(path: str) -> None:
    """Do the job in this file."""
    job, state = json.loads(Path(path).read_text()), dict[str, Any]()
    for point in job["points"]:
        ops.open_problem(
            state, problem=job["problem"], workload=point, device="cuda", weights_seed=0, threads=2
        )
        _need(ops.load(state, kernel=job["kernel"], build=job["build"]))
        _need(ops.prepare(state))
        for seed, draw in enumerate(DRAWS):
            ops.draw(state, slot=draw, seed=seed, draw=draw)
            _need(ops.run(state, slot=draw, poison=False))  # memory that nobody wrote is to stay so
        ops.close(state)


def _need(reply: dict[str, Any]) -> None:
    if "failure" in reply:
        raise SystemExit(": ".join(reply["failure"]))


if __name__ == "__main__":
    main(sys.argv[1])
