"""A thousand verdicts through the service, while its clients are killed at random.

    nice python -m benchmarks.service --verdicts 1000        appends to results/cpu/service.jsonl

`kernelwright serve-verdicts` runs in a process of its own, with the real judge at level `quick`. Clients
are processes that ask over HTTP for overlapping ranges of kernels, all of them at once, and wait for the
verdicts. One of them is killed (SIGKILL) every half minute or so, and another begins in its place from the
start of its range. Counted from what is on disk at the end: kernels without a verdict (lost), verdicts that
were made or kept more than once (duplicated), and the time from the journal's line of a request to its
verdict.

Kernels are distinct: one in five is wrong, and every third of these does not compile.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.ledger import Ledger, key_of, out_dir
from kernelwright.core.kernel import Source
from kernelwright.core.target import Target
from kernelwright.measure.environment import environment
from kernelwright.service.client import Client

WRONG_EVERY, BROKEN_EVERY = 5, 15
OVERLAP = 1.2
"""Length of a client's range over its even share: kernels at the borders are asked for twice."""
SECONDS_BETWEEN_KILLS = (15.0, 45.0)
PATIENCE_S = 4 * 3600.0
PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 0.5 + 1.0


n = 65536


def get_inputs():
    return [torch.randn(n)]


def get_init_inputs():
    return []
"""


def kernel(number: int) -> tuple[Source, ...]:
    """The source of one kernel; no two are alike."""
    offset = "1.5f" if number % WRONG_EVERY == WRONG_EVERY - 1 else "1.0f"
    end = "int unfinished(" if number % BROKEN_EVERY == BROKEN_EVERY - 1 else ""
    text = f"""#include <cstdint>
extern "C" void relu_{number}(const float *x, float *out, int64_t n) {{
    #pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) out[i] = (x[i] < 0 ? 0.0f : x[i]) * 0.5f + {offset};
}}
{end}
"""
    return (Source(path=f"relu_{number}.cpp", text=text),)


def main() -> None:
    """Be one client, or run the series and record it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--verdicts", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=11, help="of the order and the moments of kills")
    parser.add_argument("--client", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        ask(options.client[0], range(int(options.client[1]), int(options.client[2])), options.verdicts)
        return
    with tempfile.TemporaryDirectory() as folder:
        row = series(Path(folder), options.verdicts, options.clients, random.Random(options.seed))
    row |= {"clients": options.clients, "seed": options.seed, "environment": environment(Target.parse("cpu"))}
    Ledger(out_dir("cpu") / "service.jsonl").append(key_of("service", time.time()), **row)
    print({name: value for name, value in row.items() if name != "environment"})


def ask(url: str, numbers: range, count: int) -> None:
    """Ask for all, then wait for each; prints a ticket and its verdict a line."""
    client = Client(url)
    tickets = [
        client.submit(PROBLEM, kernel(number % count), wait_s=PATIENCE_S).ticket or "" for number in numbers
    ]
    for ticket in tickets:
        found = client.result(ticket, wait_s=PATIENCE_S).model_dump(mode="json")
        verdict = (found["evaluation"] or {}).get("verdict") or {}
        print(json.dumps([ticket, found["state"], verdict.get("verdict")]), flush=True)


def series(folder: Path, count: int, clients: int, rng: random.Random) -> dict[str, Any]:
    """Serve, ask, kill; what came of it."""
    begun = time.time()
    server, url = served(folder, count)
    try:
        answers, killed = asked(url, count, clients, rng)
        made = Client(url).status()
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    found = kept(folder)
    tickets = {ticket for ticket, _, _ in answers}
    states = Counter(state for _, state, _ in answers)
    lines = Counter(ticket for ticket, _ in found)
    return {
        "verdicts": count,
        "tickets": len(tickets),
        "lost": count - len(tickets & set(lines)),
        "duplicated": max(made.done - count, sum(lines.values()) - len(lines)),
        "unjudged": made.unjudged,
        "states": dict(states),
        "accepted": sum(verdict == "accepted" for _, _, verdict in answers),
        "clients_killed": killed,
        **times(folder, dict(found), begun),
    }


def served(folder: Path, capacity: int) -> tuple[subprocess.Popen[str], str]:
    """A service in a process of its own, and its URL."""
    command = [
        sys.executable, "-m", "kernelwright", "serve-verdicts", "--port", "0", "--capacity", str(capacity),
        "--store", f"jsonl://{folder}/store.jsonl", "--journal", f"{folder}/journal.jsonl",
    ]  # fmt: skip
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    for line in server.stderr:
        if "http://" in line:
            return server, line.split()[-1]
    raise SystemExit("the service did not start; run the command by hand: " + " ".join(command))


def asked(url: str, count: int, clients: int, rng: random.Random) -> tuple[set[tuple[str, ...]], int]:
    """Answers that clients printed, and how many clients were killed on the way."""
    share = count / clients
    ranges = [(int(share * each), int(share * each + share * OVERLAP) + 1) for each in range(clients)]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}

    def begin(place: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "benchmarks.service", "--verdicts", str(count), "--client", url]
        return subprocess.Popen(
            [*command, *map(str, ranges[place])], stdout=subprocess.PIPE, text=True, env=env
        )

    running = {place: begin(place) for place in range(clients)}
    answers: set[tuple[str, ...]] = set()
    killed = 0
    while running:
        place = rng.choice(sorted(running))
        try:
            output = running[place].communicate(timeout=rng.uniform(*SECONDS_BETWEEN_KILLS))[0]
        except subprocess.TimeoutExpired:
            running[place].kill()
            output = running[place].communicate()[0]
            killed += 1
            running[place] = begin(place)
        else:
            assert running.pop(place).returncode == 0, "a client failed"
        answers |= set(_lines(output))
    return answers, killed


def _lines(output: str) -> Iterator[tuple[str, ...]]:
    """Whole lines of a client that may have been killed in the middle of one."""
    for line in output.splitlines(keepends=True):
        if line.endswith("\n"):
            yield tuple(json.loads(line))


def kept(folder: Path) -> list[tuple[str, float]]:
    """Ticket and moment of each verdict that the store's file holds."""
    rows = [json.loads(line) for line in (folder / "store.jsonl").read_text().splitlines()]
    return [(row["id"], row["document"]["created"]) for row in rows if row["kind"] == "trial"]


def times(folder: Path, made: dict[str, float], begun: float) -> dict[str, Any]:
    """Verdicts in a minute, and seconds from a request to its verdict and between two verdicts."""
    rows = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    asked = {row["document"]["ticket"]: row["document"]["created"] for row in rows if row["kind"] == "entry"}
    waits = [made[ticket] - asked[ticket] for ticket in made]
    moments = sorted(made.values())
    gaps = [after - before for before, after in pairwise(moments)]
    return {
        "wall_s": round(moments[-1] - begun, 1),
        "first_verdict_s": round(moments[0] - begun, 1),
        "verdicts_per_minute": round(60 * len(gaps) / (moments[-1] - moments[0]), 2),
        "latency_s": _spread(waits),
        "between_verdicts_s": _spread(gaps),
    }


def _spread(values: list[float]) -> dict[str, float]:
    return {"p50": round(median(values), 3), "p95": round(quantiles(values, n=20)[-1], 3)}


if __name__ == "__main__":
    main()
