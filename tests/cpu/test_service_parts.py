"""Parts of the verdict service without Ray: order, journal, book, redaction, who may call."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from service_cases import PROBLEM, source
from service_desks import evaluation
from test_import import modules_after

from kernelwright.core.errors import EnvironmentFault, ExitCode, StoreError, UsageError
from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.problem import Entry as Place
from kernelwright.core.problem import Problem
from kernelwright.core.verdict import Level
from kernelwright.service import redacted as redaction
from kernelwright.service.answer import Answer, Receipt, RedactedAnswer
from kernelwright.service.book import Book
from kernelwright.service.client import Client
from kernelwright.service.journal import Journal
from kernelwright.service.queue import PATIENCE_S, Queue
from kernelwright.service.redacted import redacted, reward
from kernelwright.service.request import HELD_OUT_PRIORITY, Entry, Request, parsed
from kernelwright.service.settings import Settings
from kernelwright.service.ticketed import Ticketed


def problem(name: str = "p") -> Problem:
    return Problem(name=name, source=name, normalized=name, entry=Place(kind="path", location="tests:none"))


def kernel(name: str) -> Kernel:
    text = (Source(path="k.py", text=name),)
    return Kernel(name=name, problem=problem().hash, language="python", sources=text)


def entry(name: str, priority: int = 0, created: float = 0.0, of: str = "p") -> Entry:
    return Entry(
        ticket=f"v-{name}",
        problem=of,
        kernel=kernel(name),
        level="quick",
        priority=priority,
        created=created,
    )


def request(level: Level = "quick", client: str = "a", priority: int = 0) -> Request:
    return Request(problem=PROBLEM, kernel=source("x"), level=level, client=client, priority=priority)


def settings(folder: Path, **more: Any) -> Settings:
    return Settings(store=f"jsonl://{folder}/s.jsonl", journal=f"{folder}/j.jsonl", **more)


def taken(book: Book) -> Ticketed | None:
    return asyncio.run(book.take(None, wait=False))


def test_order_is_priority_then_age_then_the_open_problem() -> None:
    queue = Queue(10)
    for each in (entry("old", created=1), entry("new", created=2, of="open"), entry("first", 1, created=3)):
        queue.put(each)
    assert queue.ahead("v-new") == 2
    order = [queue.take("open", now=10.0) for _ in range(4)]
    assert [each and each.ticket for each in order] == ["v-first", "v-new", "v-old", None]


def test_nobody_waits_for_ever_behind_the_open_problem() -> None:
    queue = Queue(10)
    queue.put(entry("old", created=0, of="other"))
    queue.put(entry("new", created=1, of="open"))
    found = queue.take("open", now=PATIENCE_S)
    assert found is not None and found.ticket == "v-old"


def test_held_out_entries_wait_behind_all_and_take_no_place() -> None:
    queue = Queue(1)
    queue.put(entry("h", HELD_OUT_PRIORITY).model_copy(update={"held_out": True}))
    assert not queue.full
    queue.put(entry("low", -9))
    assert queue.full
    found = queue.take()
    assert found is not None and found.ticket == "v-low"


@pytest.mark.parametrize("torn", [b"", b'{"kind": "entry", "docu'])
def test_a_journal_reads_back_what_has_not_ended(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "j.jsonl"
    first = Journal.open(path)
    for name in ("a", "b", "c", "d"):
        first.add(entry(name, of=problem().hash), problem())
    first.add(entry("b", 7, of=problem().hash), problem())
    first.end("v-a", "done")
    first.end("v-c", "unjudged", "no room")
    first.close()
    with path.open("ab") as file:
        file.write(torn)
    for _ in range(2):  # the second time from what the first left
        journal = Journal.open(path)
        assert {ticket: each.priority for ticket, each in journal.pending.items()} == {"v-b": 7, "v-d": 0}
        assert journal.unjudged == {"v-c": "no room"}
        assert list(journal.problems) == [problem().hash]
        journal.close()


def test_a_journal_has_one_service_and_knows_its_own_lines(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "j.jsonl")
    with pytest.raises(EnvironmentFault, match="another verdict service"):
        Journal.open(tmp_path / "j.jsonl")
    journal.close()
    for line in ("[]", "hello", '{"kind": "trial"}'):
        (tmp_path / "other.jsonl").write_text(line + "\n")
        with pytest.raises(StoreError, match="no journal"):
            Journal.open(tmp_path / "other.jsonl")
        (tmp_path / "other.jsonl").unlink()


def test_a_ticket_is_its_content_and_is_taken_back_by_all_who_asked(tmp_path: Path) -> None:
    book = Book(settings(tmp_path))
    first = book.accept(request(client="a"), problem(), kernel("k"))
    again = book.accept(request(client="b", priority=3), problem(), kernel("k"))
    assert first.ticket == again.ticket and first.ticket is not None
    full = book.accept(request(level="full"), problem(), kernel("k"))
    other = book.accept(request(), problem(), kernel("l"))
    assert len({first.ticket, full.ticket, other.ticket}) == 3
    one = book.waiting(first.ticket)
    assert one is not None and (one.entry.priority, one.entry.clients) == (3, ("a", "b"))
    assert book.cancel(first.ticket, "nobody").state == "queued"
    assert book.cancel(first.ticket, "a").state == "queued"
    assert book.cancel(first.ticket, "b").state == "cancelled"
    with pytest.raises(UsageError):
        book.answer(first.ticket)
    book.close()


def test_killed_between_store_and_journal_nothing_is_judged_again(tmp_path: Path) -> None:
    book = Book(settings(tmp_path))
    tickets = [book.accept(request(), problem(), kernel(name)).ticket or "" for name in ("a", "b")]
    one = taken(book)
    assert one is not None
    book.records.keep(one.entry, one.problem, evaluation(one.entry.problem, one.entry.kernel))
    book.close()  # as if it were killed here
    book = Book(settings(tmp_path))
    assert [book.answer(ticket).state for ticket in tickets] == ["done", "queued"]
    assert book.accept(request(), problem(), kernel("a")) == Receipt(ticket=tickets[0], state="done")
    assert len(book.queue) == 1
    book.close()


def trained(folder: Path, share: float = 1.0) -> Book:
    return Book(settings(folder, redacted=True, problems=(PROBLEM,), held_out_share=share))


def test_a_trainer_is_told_nothing_of_the_gates(tmp_path: Path) -> None:
    book = trained(tmp_path)
    for name, rejected in (("good", False), ("bad", True)):
        ticket = book.accept(request(), problem(), kernel(name)).ticket or ""
        one = taken(book)
        assert one is not None
        book.done(one, evaluation(one.entry.problem, one.entry.kernel, rejected=rejected))
        answer = book.answer(ticket)
        assert isinstance(answer, RedactedAnswer)
        text = answer.model_dump_json()
        for secret in ("77", "3.25", "0.0625", "424242", "numeric", "more draws", "10.0"):
            assert secret not in text.replace(ticket, "")
        assert answer.kind == ("answer" if rejected else None)
        assert answer.reward == (0.0 if rejected else 1.5)
        held = taken(book)
        assert (held is None) == rejected
        if held is not None:
            check_held_out(book, held)
    assert book.records.held_out().model_dump() == {"judged": 1, "rejected": 1, "kinds": {"answer": 1}}
    book.close()


def check_held_out(book: Book, held: Ticketed) -> None:
    """One level up, known to nobody, and its outcome changes no answer."""
    assert (held.entry.level, held.entry.held_out, held.entry.clients) == ("full", True, ())
    for asked in (book.answer, lambda ticket: book.cancel(ticket, "")):
        with pytest.raises(UsageError):
            asked(held.entry.ticket)
    told = book.accept(request(), problem(), held.entry.kernel)
    before = book.answer(told.ticket or "")
    book.done(held, evaluation(held.entry.problem, held.entry.kernel, "full", rejected=True))
    assert book.answer(told.ticket or "") == before
    with pytest.raises(UsageError):
        book.answer(held.entry.ticket)
    assert taken(book) is None


def test_a_trainer_cannot_read_other_levels_that_the_store_knows(tmp_path: Path) -> None:
    book = Book(settings(tmp_path))
    ticket = book.accept(request("full"), problem(), kernel("k")).ticket or ""
    one = taken(book)
    assert one is not None
    book.done(one, evaluation(one.entry.problem, one.entry.kernel, "full"))
    assert book.answer(ticket).state == "done"
    book.close()
    book = trained(tmp_path)
    with pytest.raises(UsageError):
        book.answer(ticket)
    book.close()


def test_why_it_was_not_judged_is_not_told_to_a_trainer() -> None:
    shown = redacted(Answer(ticket="v-1", state="unjudged", message="seed 424242 at /somewhere"))
    assert shown.message == redaction.UNJUDGED


@pytest.mark.parametrize(
    ("low", "status", "expected"),
    [
        (1.5, "won", 1.5), (1.5499, "won", 1.5), (1.05, "won", 1.05), (0.999, "at_floor", 0.95),
        (1.4, "unresolved", 1.0), (3.0, "degenerate", 1.0), (0.51, "behind", 0.5), (0.0, "behind", 0.0),
        (float("nan"), "won", 0.0), (float("inf"), "won", 0.0), (-1.0, "won", 0.0),
    ],
)  # fmt: skip
def test_the_reward_is_a_lower_bound_in_steps(low: float, status: str, expected: float) -> None:
    assert reward(evaluation("p", kernel("k"), low=low, status=status)) == expected
    assert reward(evaluation("p", kernel("k"), low=low, status=status, rejected=True)) == 0.0


def test_a_client_tells_a_redacted_answer_from_a_whole_one() -> None:
    whole = Answer(ticket="v-1", state="done", evaluation=evaluation("p", kernel("k")))
    for answer in (whole, redacted(whole)):
        assert Client("http://127.0.0.1:1")._answer(answer.model_dump(mode="json")) == answer


def test_settings_that_exclude_each_other_are_refused() -> None:
    for wrong in (
        Settings(redacted=True),
        Settings(redacted=True, problems=("x",), level="paranoid"),
        Settings(target="tpu"),
    ):
        with pytest.raises(UsageError):
            wrong.checked()
    assert Settings(redacted=True, problems=("x",), level="paranoid", held_out_share=0.0).checked()


def test_documents_that_do_not_fit_are_one_line() -> None:
    for document in ("[1", "{}", '{"problem": "x", "kernel": [], "hurry": 1}', '{"problem": 1}', b"\xff"):
        with pytest.raises(UsageError) as raised:
            parsed(Request, document)
        assert "\n" not in str(raised.value) and "problem" in str(raised.value)


def asked(token: str | None, headers: dict[str, str]) -> int:
    """Status of GET /v1/status with these headers, asked of the application directly."""
    web = pytest.importorskip("kernelwright.service.web", reason="starlette is not installed")
    sent: list[dict[str, Any]] = []

    class Ready(web.Front):  # type: ignore[misc, name-defined]
        async def _ask(self, reference: Any, wait_s: float = 0.0) -> Any:
            return Receipt(ticket="v-1", state="done")

    class Silent:
        def __getattr__(self, name: str) -> Any:
            return self

        def remote(self, *_: Any) -> None:
            return None

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": "/v1/status", "raw_path": b"/v1/status", "query_string": b"", "root_path": "",
        "headers": pairs, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip
    application: Callable[..., Awaitable[None]] = Ready(Silent(), token).application()
    asyncio.run(application(scope, receive, send))  # type: ignore[arg-type]
    json.loads(sent[1]["body"])
    status: int = sent[0]["status"]
    return status


def test_who_may_call() -> None:
    assert asked("secret", {"Host": "gpu.example", "Authorization": "Bearer secret"}) == 200
    for wrong in ({}, {"Authorization": "Bearer secre"}, {"Authorization": "Bearer sécret"}):
        assert asked("secret", {"Host": "127.0.0.1", **wrong}) == 401
    for host in ("127.0.0.1:8421", "localhost", "[::1]:1", "[::1]"):
        assert asked(None, {"Host": host}) == 200
    for host in ("gpu.example", "127.0.0.1.example:8421", "", "localhost.example"):
        assert asked(None, {"Host": host}) == 403


def test_the_coordinator_and_clients_load_nothing_heavy() -> None:
    for module in ("coordinator", "client", "service"):
        loaded = modules_after(f"import kernelwright.service.{module}")
        assert loaded & {"torch", "ray", "numpy", "sqlalchemy", "triton"} == set()


def test_without_ray_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_DATA", str(tmp_path))
    code = (
        "from kernelwright.service import cluster\nfrom kernelwright.cli import main\n"
        "cluster.find_spec = lambda name: None\nmain(['serve-verdicts'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == ExitCode.ENVIRONMENT
    assert done.stderr.count("\n") == 1 and "pip install 'kernelwright[service]'" in done.stderr


def test_an_address_that_others_reach_needs_a_token() -> None:
    from kernelwright.service.serve import check_address

    for host in ("0.0.0.0", "::", "gpu.example", "192.0.2.1"):
        with pytest.raises(UsageError, match="KERNELWRIGHT_SERVICE_TOKEN"):
            check_address(host, None)
        check_address(host, "secret")
    for host in ("127.0.0.1", "::1", "localhost"):
        check_address(host, None)


def test_why_a_process_is_gone_is_one_line_with_the_cause() -> None:
    from kernelwright.service.cluster import _explained

    error = RuntimeError("The actor died.\n\x1b[36mray::Hosted\x1b[39m\nImportError: no module 'x'\n")
    assert _explained(error) == "its process is gone: The actor died; ImportError: no module 'x'"
    for kind in (EnvironmentFault, UsageError):
        error.cause = kind("what was said")  # type: ignore[attr-defined]
        with pytest.raises(kind, match="what was said"):
            _explained(error)
