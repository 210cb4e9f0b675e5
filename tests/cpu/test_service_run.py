"""The whole service, with a scripted desk: clients and servers are killed, lanes fail, the queue fills."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from service_cases import HERE, PROBLEM, Server, eventually, source

from kernelwright.core.errors import EnvironmentFault, ExitCode, UsageError
from kernelwright.service.answer import Answer
from kernelwright.service.journal import Journal
from kernelwright.store.jsonl import JsonLinesStore

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: extra 'service'")
TIME = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    served = Server(tmp_path_factory.mktemp("service"))
    yield served
    if served.process.poll() is None:
        served.kill()


def answer(server: Server, ticket: str | None) -> Answer:
    assert ticket is not None
    found = server.client.result(ticket, wait_s=TIME)
    assert isinstance(found, Answer)
    return found


def verdicts(server: Server) -> Counter[str]:
    """Lines of verdicts in the store, by ticket: also such as a store would not show twice."""
    lines = (server.folder / "store.jsonl").read_text().splitlines()
    return Counter(row["id"] for row in map(json.loads, lines) if row["kind"] == "trial")


def test_clients_killed_at_random_lose_and_double_nothing(server: Server) -> None:
    rng = random.Random(5)
    tickets, killed = set(), 0
    ranges = [(0, 12), (8, 20), (16, 30)]
    env = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    while ranges:
        commands = [
            [sys.executable, str(HERE / "service_client.py"), server.url, *map(str, each)] for each in ranges
        ]
        running = [
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) for command in commands
        ]
        for process in running if killed < 6 else []:
            time.sleep(rng.uniform(0.1, 0.6))
            process.kill()
        outputs = [process.communicate()[0] for process in running]
        killed += sum(process.returncode == -signal.SIGKILL for process in running)
        assert all(process.returncode in (0, -signal.SIGKILL) for process in running)
        ranges = [each for each, process in zip(ranges, running, strict=True) if process.returncode]
        tickets |= {ticket for output in outputs for ticket in output.split()}
    assert killed >= 3
    assert len(tickets) == 30
    counts = Counter(name for name in server.judged() if name.startswith("shared"))
    assert counts == Counter(f"shared{number}" for number in range(30))
    assert {verdicts(server)[ticket] for ticket in tickets} == {1}


def test_the_same_content_is_judged_once_and_answered_from_the_store(server: Server) -> None:
    first = server.client.submit(PROBLEM, source("once"))
    assert answer(server, first.ticket).state == "done"
    again = server.client.submit("# another layout\n" + PROBLEM, source("once"))
    assert (again.ticket, again.state) == (first.ticket, "done")
    assert server.judged().count("once") == 1
    other_level = server.client.submit(PROBLEM, source("once"), level="full")
    assert other_level.ticket != first.ticket


def test_priorities_and_cancellation_while_the_lane_is_busy(server: Server) -> None:
    client = server.client
    busy = client.submit(PROBLEM, source("busy", "sleep 1.5"))
    eventually(lambda: client.result(busy.ticket or "").state == "judging")
    low = client.submit(PROBLEM, source("low"), priority=-1)
    dropped = client.submit(PROBLEM, source("dropped"))
    high = client.submit(PROBLEM, source("high"), priority=5)
    assert answer_now(server, low.ticket).ahead == 2
    assert client.cancel(dropped.ticket or "").state == "cancelled"
    assert answer(server, low.ticket).state == answer(server, high.ticket).state == "done"
    names = server.judged()
    assert names.index("high") < names.index("low")
    assert "dropped" not in names
    with pytest.raises(UsageError, match="cancelled"):
        client.result(dropped.ticket or "")


def answer_now(server: Server, ticket: str | None) -> Answer:
    found = server.client.result(ticket or "")
    assert isinstance(found, Answer)
    return found


def test_a_kernel_that_ends_the_lane_is_unjudged_and_others_go_on(server: Server) -> None:
    crash = server.client.submit(PROBLEM, source("crash", "crash"))
    fault = server.client.submit(PROBLEM, source("fault", "fault"))
    mistake = server.client.submit(PROBLEM, source("mistake", "mistake"))
    fine = server.client.submit(PROBLEM, source("fine", "reject"))
    assert answer(server, crash.ticket).state == "unjudged"
    assert answer(server, fault.ticket).message == "scripted fault"
    assert answer(server, mistake.ticket).message == "scripted mistake"
    found = answer(server, fine.ticket).evaluation
    assert found is not None and found.verdict is not None
    assert found.verdict.verdict == "rejected"
    counts = Counter(server.judged())
    assert (counts["crash"], counts["fault"], counts["mistake"]) == (2, 2, 1)
    assert server.client.submit(PROBLEM, source("mistake", "mistake")).state == "queued"  # tried again


def test_requests_that_do_not_fit_are_one_line(server: Server) -> None:
    for problem, kernel, options, said in [
        ("x = 1", source("a"), {}, "has no 'Model'"),
        (PROBLEM, (source("a")[0].model_copy(update={"path": "../a.py"}),), {}, "name of its own"),
        (PROBLEM, (source("a")[0].model_copy(update={"path": "a.cl"}),), {}, ".cpp"),
        (PROBLEM, (), {}, "kernel"),
        (PROBLEM, source("a"), {"target": "cuda"}, "this service judges for 'cpu'"),
        (PROBLEM, source("a"), {"priority": 10}, "priority"),
    ]:
        with pytest.raises(UsageError) as raised:
            server.client.submit(problem, kernel, **options)
        assert said in str(raised.value)
        assert "\n" not in str(raised.value)
        assert "/tmp" not in str(raised.value)


def test_the_command_that_asks_has_the_exit_codes_of_verify(server: Server, tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(PROBLEM)
    env = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    codes = {"command_good": 0, "command_bad reject": 3, "command_lost mistake": 4}
    for does, code in codes.items():
        (tmp_path / "model_new.py").write_text(source(does)[0].text)
        done = subprocess.run(
            [sys.executable, "-m", "kernelwright", "ask-verdict", "model_new.py", "--problem", "problem.py",
             "--service", server.url, "--json"],
            cwd=tmp_path, capture_output=True, text=True, env=env,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        if code == 4:
            assert "unjudged; scripted mistake" in done.stderr
        else:
            assert json.loads(done.stdout)["verdict"] == ("rejected" if code else "accepted")


def test_pages_in_browsers_and_other_documents_are_refused(server: Server) -> None:
    body = json.dumps({"problem": PROBLEM, "kernel": []}).encode()
    for path, headers, data, status in [
        ("/v1/status", {"Host": "rebound.example"}, None, 403),
        ("/v1/verdicts", {"Content-Type": "text/plain"}, body, 415),
        ("/v1/verdicts", {"Content-Type": "application/json"}, b"[1", 400),
        ("/v1/verdicts", {"Content-Type": "application/json"}, b'{"problem": "x", "hurry": 1}', 400),
        ("/v1/verdicts/v-0", {}, None, 400),
        ("/v1/verdicts/v-0?wait_s=-1", {}, None, 400),
    ]:
        asked = urllib.request.Request(server.url + path, data, headers)
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(asked)
        with raised.value as error:
            assert (path, error.code) == (path, status)
            assert "\n" not in json.load(error)["error"]


def test_a_full_queue_says_when_to_come_back(server: Server) -> None:
    client = server.client
    busy = client.submit(PROBLEM, source("slow", "sleep 2"), priority=9)
    eventually(lambda: client.result(busy.ticket or "").state == "judging")
    accepted = []
    with pytest.raises(EnvironmentFault, match="full; try again in"):
        for number in range(50):
            accepted.append(client.submit(PROBLEM, source(f"many{number}")).ticket)
    assert len(accepted) == 40
    late = client.submit(PROBLEM, source("late"), wait_s=TIME)
    assert answer(server, late.ticket).state == "done"


def test_a_coordinator_that_is_killed_goes_on_where_it_was(server: Server) -> None:
    tickets = [
        server.client.submit(PROBLEM, source(f"kept{number}", "sleep 0.1")).ticket for number in range(8)
    ]
    os.kill(server.child("ray::Coordinator"), signal.SIGKILL)
    eventually(lambda: server.client.status().capacity == 40)
    for ticket in tickets:
        assert answer(server, ticket).state == "done"
    assert {verdicts(server)[ticket or ""] for ticket in tickets} == {1}


def test_an_unsound_lane_is_quarantined_and_a_killed_service_goes_on(server: Server) -> None:
    client, unsound = server.client, server.folder / "unsound"
    unsound.touch()
    blamed = client.submit(PROBLEM, source("blamed", "fault"))
    behind = client.submit(PROBLEM, source("behind"))
    eventually(lambda: client.status().lanes[0].state == "quarantined")
    assert "scripted to fail" in client.status().lanes[0].reason
    eventually(lambda: answer_now(server, blamed.ticket).state == "queued")
    assert answer_now(server, behind.ticket).state == "queued"
    assert "scripted to fail" in answer_now(server, behind.ticket).message
    server.kill()
    unsound.unlink()
    server.start()
    assert answer(server, behind.ticket).state == "done"
    assert answer(server, blamed.ticket).message == "scripted fault"
    with JsonLinesStore.open(Path(server.folder / "store.jsonl")) as store:
        assert store.trial(behind.ticket or "").kernel.name == "model_new"


def test_a_service_that_is_told_to_end_leaves_no_process_and_keeps_its_queue(server: Server) -> None:
    busy = server.client.submit(PROBLEM, source("last", "sleep 20"))
    behind = server.client.submit(PROBLEM, source("behind_last"))
    eventually(lambda: answer_now(server, busy.ticket).state == "judging")
    assert server.end(signal.SIGTERM) == ExitCode.INTERRUPTED
    journal = Journal.open(server.folder / "journal.jsonl")
    assert set(journal.pending) == {busy.ticket, behind.ticket}
    journal.close()
