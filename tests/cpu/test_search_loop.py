"""The loop on fake evaluations: dedupe, errors, storage before report, Ctrl-C, budget."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from random import Random

import pytest

from kernelwright.core.errors import EnvironmentFault, InternalFault
from kernelwright.core.kernel import Build, Kernel, Source
from kernelwright.core.measurement import Measurement, Timing
from kernelwright.core.problem import CONTRACT_VERSION
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation, Trial
from kernelwright.core.verdict import GateResult, Verdict
from kernelwright.propose.space import Choice, Space
from kernelwright.search.base import STRATEGIES, Budget
from kernelwright.search.loop import Outcome, Search, Tools

CPU = Target.parse("cpu")
SPACE = Space.of(tile=(1, 2, 3, 4, 5, 6), unroll=(1, 2, 4), useless=(0, 1))


def make(choice: Choice) -> Kernel:
    """`useless` changes nothing in the source."""
    text = f"tile {choice['tile']} unroll {choice['unroll']}"
    return Kernel(name="k", problem="p", language="cpp", sources=(Source(path="k.cpp", text=text),))


def compiled(kernel: Kernel) -> Build:
    if "tile 6" in kernel.sources[0].text:
        raise InternalFault("the compiler was killed")
    return Build(kernel=kernel.hash, target=CPU, status="built")


def judged(kernel: Kernel, build: Build, incumbent: float | None) -> Evaluation:
    words = kernel.sources[0].text.split()
    tile, unroll = int(words[1]), int(words[3])
    if (tile, unroll) == (2, 2):
        raise InternalFault("worker protocol broke")
    bad = build.status == "failed" or unroll == 1
    gate = GateResult(name="numeric", status="fail" if bad else "pass", kind="answer")
    latency = 100.0 + 10 * abs(tile - 4) + unroll
    timing = Timing(name="kernel", latency_us=latency, ci=(latency, latency), samples_us=((latency,),))
    return Evaluation(
        problem="p",
        kernel=kernel.hash,
        target=CPU,
        build=build,
        verdict=Verdict.of([gate], "quick", CONTRACT_VERSION, []),
        measurement=None if bad else Measurement(clock="outside", kernel=timing),
    )


class Log:
    """Records what the loop stores and reports, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def record(self, trial: Trial) -> None:
        self.events.append(("stored", trial.id))

    def report(self, done: int, trial: Trial, best: Trial | None) -> None:
        self.events.append(("reported", trial.id))


def search(log: Log, strategy: str = "random", seconds: float = 30.0, target: Target = CPU) -> Outcome:
    tools = Tools(make, compiled, judged, log.record, log.report)
    chosen = STRATEGIES.get(strategy)(SPACE, Random(0))
    return Search(tools, chosen, Budget(seconds), target, "r-1", workers=2).go()


@pytest.mark.parametrize("strategy", STRATEGIES.names())
@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_finds_the_best_of_a_small_space(strategy: str, target: str) -> None:
    outcome = search(Log(), strategy, target=Target.parse(target))
    best = outcome.accepted[0].evaluation.measurement
    assert best is not None
    assert best.kernel.latency_us == 102.0
    assert outcome.ended == "nothing left to try"


def test_equal_kernels_are_judged_once_and_failures_do_not_end_the_run() -> None:
    log = Log()
    outcome = search(log)
    assert outcome.trials == 18
    assert len(outcome.accepted) == 12 - 2 - 1


def test_each_trial_is_stored_before_it_is_reported() -> None:
    log = Log()
    search(log)
    for (first, stored), (second, reported) in zip(log.events[::2], log.events[1::2], strict=True):
        assert (first, second) == ("stored", "reported")
        assert stored == reported


def test_a_wait_for_compilers_is_said() -> None:
    said: list[str] = []
    log = Log()
    tools = Tools(make, compiled, judged, log.record, log.report, said.append)
    Search(tools, STRATEGIES.get("random")(SPACE, Random(0)), Budget(30.0), CPU, "r-1", workers=2).go()
    assert said and all(words.startswith("compiling ") for words in said)


def test_what_the_machine_lacks_ends_the_run() -> None:
    def full(trial: Trial) -> None:
        raise EnvironmentFault("disk is full; free some space")

    log = Log()
    tools = Tools(make, compiled, judged, full, log.report)
    chosen = STRATEGIES.get("random")(SPACE, Random(0))
    with pytest.raises(EnvironmentFault, match="disk is full"):
        Search(tools, chosen, Budget(30.0), CPU, "r-1", workers=2).go()
    assert log.events == []


def test_an_empty_budget_tries_nothing() -> None:
    outcome = search(Log(), seconds=0.0)
    assert outcome.trials == 0
    assert outcome.ended == "budget used up"


def test_known_choices_are_tried_first() -> None:
    log = Log()
    order: list[str] = []
    tools = Tools(
        make, compiled, judged, log.record, lambda _n, trial, _b: order.append(trial.kernel.sources[0].text)
    )
    known = SPACE.complete({"tile": 5, "unroll": 4})
    chosen = STRATEGIES.get("evolution")(SPACE, Random(0))
    Search(tools, chosen, Budget(30.0), CPU, "r-1", workers=2, first=[known]).go()
    assert order[0] == "tile 5 unroll 4"
    assert order.count("tile 5 unroll 4") == 1


PROGRAM = """
import sys, time
sys.path.insert(0, {folder!r})
import test_search_loop as t
from random import Random

def slow(kernel, build, incumbent):
    time.sleep(0.15)
    return t.judged(kernel, build, incumbent)

stored = open({stored!r}, "a", buffering=1)
tools = t.Tools(t.make, t.compiled, slow, lambda trial: stored.write(trial.id + "\\n"),
                lambda n, trial, best: print("reported", trial.id, flush=True))
chosen = t.STRATEGIES.get("random")(t.SPACE, Random(0))
outcome = t.Search(tools, chosen, t.Budget(60.0), t.CPU, "r", workers=2).go()
print("ended", outcome.ended, outcome.interrupted, outcome.trials, len(outcome.accepted), flush=True)
"""


def test_ctrl_c_ends_cleanly_and_loses_no_trial(tmp_path: Path) -> None:
    stored = tmp_path / "stored"
    text = textwrap.dedent(PROGRAM).format(folder=str(Path(__file__).parent), stored=str(stored))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and (not stored.exists() or len(stored.read_text().split()) < 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    reported = [line.split()[1] for line in out.splitlines() if line.startswith("reported")]
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert reported == stored.read_text().split()
    assert f"ended interrupted True {len(reported)}" in out
