"""How long `import kernelwright` and `kernelwright --help` take: median of fresh processes, seconds.

python -m benchmarks.startup
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from benchmarks.ledger import RESULTS, Ledger, key_of

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import kernelwright": ["-c", "import kernelwright"],
    "kernelwright --help": ["-m", "kernelwright", "--help"],
}


def seconds(arguments: list[str], runs: int = 21) -> list[float]:
    """Wall time of `runs` fresh interpreters."""
    found = []
    for _ in range(runs):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        found.append(time.perf_counter() - begun)
    return found


def main() -> None:
    """Measure, print and record."""
    ledger = Ledger(RESULTS / "cpu" / "startup.jsonl")
    for name, arguments in COMMANDS.items():
        taken = seconds(arguments)
        print(f"{name:24s} median {statistics.median(taken):.3f} s, worst {max(taken):.3f} s of {len(taken)}")
        ledger.append(key_of("startup", name, time.time()), name=name, seconds=taken)


if __name__ == "__main__":
    main()
