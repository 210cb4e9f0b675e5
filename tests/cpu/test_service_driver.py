"""Drivers of lanes, on a stage: what is compiled when, and where work goes when a lane fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from service_desks import evaluation
from test_service_parts import kernel, problem, request, settings

from kernelwright.core.errors import StoreError
from kernelwright.core.kernel import Build, Kernel
from kernelwright.core.target import Target
from kernelwright.service import cluster
from kernelwright.service import driver as drivers
from kernelwright.service.book import Book
from kernelwright.service.cluster import Place
from kernelwright.service.driver import Driver
from kernelwright.service.ticketed import Outcome

pytest.importorskip("ray", reason="ray is not installed: extra 'service'")
STEP_S = 0.02


class Stage:
    """Stands in for the cluster; keeps what happened in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events: list[str] = []
        self.unsound: set[int] = set()
        """Numbers of places whose lane fails, also with the known-good kernel."""
        monkeypatch.setattr(cluster, "lane_at", lambda place, desk, target: Lane(self, place.number))
        monkeypatch.setattr(cluster, "build_at", lambda place, kernel, target: self.build(kernel, target))
        monkeypatch.setattr(cluster, "end", lambda lane: self.events.append(f"end {lane.number}"))
        monkeypatch.setattr(drivers, "PAUSE_S", 0.0)

    async def build(self, kernel: Kernel, target: Target) -> Build:
        self.events.append(f"build {kernel.name}")
        await asyncio.sleep(STEP_S)
        self.events.append(f"built {kernel.name}")
        return Build(kernel=kernel.hash, target=target, status="built")


class Lane:
    """Stands in for a lane's process."""

    def __init__(self, stage: Stage, number: int) -> None:
        self.call = self
        self.number = number
        self._stage = stage

    async def remote(self, method: str, *given: Any) -> Any:
        unsound = self.number in self._stage.unsound
        if method == "check":
            return "it fails" if unsound else ""
        if method == "about":
            return f"lane {self.number}"
        of, judged = given[0], given[1]
        self._stage.events.append(f"judge {judged.name} in {self.number}")
        await asyncio.sleep(3 * STEP_S)
        return Outcome(fault="no device") if unsound else Outcome(evaluation(of.hash, judged))


def performed(
    book: Book, lanes: int, until: Callable[[], bool], act: Callable[[], Awaitable[None]]
) -> list[Driver]:
    """Drive that many lanes, act, and go on until something holds."""

    async def perform() -> list[Driver]:
        made = [Driver(Place("host", True, number, 3), book) for number in range(lanes)]
        tasks = [asyncio.create_task(each.run()) for each in made]
        await act()
        for _ in range(500):
            if until():
                break
            await asyncio.sleep(STEP_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert until()
        return made

    return asyncio.run(perform())


async def nothing() -> None:
    return None


def submitted(book: Book, count: int) -> list[str]:
    return [book.accept(request(), problem(), kernel(f"k{number}")).ticket or "" for number in range(count)]


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_compilers_run_beside_a_gpu_and_before_a_cpu(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, book = Stage(monkeypatch), Book(settings(tmp_path, target=target))
    submitted(book, 5)
    performed(book, 1, lambda: book.counts["done"] == 5, nothing)
    at = stage.events.index
    assert at("built k0") < at("judge k0 in 0")
    if target == "cpu":
        assert at("built k2") < at("judge k0 in 0")  # all that was taken, before anything is timed
        assert at("build k3") > at("judge k2 in 0")
    else:
        assert at("build k3") < at("judge k2 in 0")  # taken once there was room
    book.close()


def test_what_a_quarantined_lane_had_goes_to_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, book = Stage(monkeypatch), Book(settings(tmp_path, target="cuda"))
    tickets = submitted(book, 8)

    async def break_one() -> None:
        while not any(event.endswith("in 1") for event in stage.events):
            await asyncio.sleep(0)
        stage.unsound.add(1)

    made = performed(book, 2, lambda: book.counts["done"] == 8, break_one)
    assert made[0].reason == ""
    assert [lane.status.state for lane in made] == ["idle", "quarantined"]
    assert "3 times in a row: it fails" in made[1].reason
    assert all(book.answer(ticket).state == "done" for ticket in tickets)
    assert book.counts["unjudged"] == 0
    book.close()


def test_without_a_lane_everything_stays_queued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, book = Stage(monkeypatch), Book(settings(tmp_path, target="cuda"))
    stage.unsound |= {0, 1}
    tickets = submitted(book, 4)
    made: list[Driver] = performed(book, 2, lambda: "end 1" in stage.events, nothing)
    assert all(lane.reason for lane in made)
    assert [book.answer(ticket).state for ticket in tickets] == ["queued"] * 4
    assert not any(event.startswith("judge") for event in stage.events)
    book.close()


def test_a_store_that_cannot_be_written_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, book = Stage(monkeypatch), Book(settings(tmp_path, target="cuda"))
    tickets = submitted(book, 4)

    def full(*_: Any) -> bool:
        raise StoreError("the trial store cannot be written: no space")

    monkeypatch.setattr(book.records, "keep", full)
    (lane,) = performed(book, 1, lambda: "end 0" in stage.events, nothing)
    assert "no space" in lane.reason
    assert [book.answer(ticket).state for ticket in tickets] == ["queued"] * 4
    book.close()
