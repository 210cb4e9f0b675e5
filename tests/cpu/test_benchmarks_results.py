"""The page of results: made of whatever ledgers there are, also of records that lack what others have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ledger import RESULTS, Ledger
from benchmarks.results_table import SECTIONS, page

LEDGERS = sorted(RESULTS.glob("*/*.jsonl"))
BEST = {
    "speedup": {"strongest": 1.5}, "speedup_ci": {"strongest": [1.4, 1.6]}, "strongest": "compile",
    "latency_us": 1234.5, "status": "won", "floor_share": 0.25,
}  # fmt: skip


def record(name: str, best: dict[str, Any] | None, **fields: Any) -> dict[str, Any]:
    report = {"problem": {"hash": "0"}, "target": "cpu", "best": best}
    made = {"key": name, "time": 0, "command": "python -m benchmarks.examples --budget 60", "torch": "2.9"}
    return {**made, "name": name, "report": report, **fields}


def written(folder: Path, name: str, *records: dict[str, Any], torn: str = "") -> str:
    (folder / "cpu").mkdir(exist_ok=True)
    (folder / "cpu" / name).write_text("".join(json.dumps(each) + "\n" for each in records) + torn)
    return page(folder)


def test_rows_say_speed_interval_status_and_versions(tmp_path: Path) -> None:
    text = written(
        tmp_path, "examples.jsonl", record("one", {**BEST, "status": "behind"}),
        record("one", BEST, contract_version=3, method_version=4),
        record("two", None), torn='{"key": "thr',
    )  # fmt: skip
    assert "| one | compile | 1,234.5 | 1.50x | 1.400 to 1.600 | won | 25 % | contract 3, method 4 |" in text
    assert "| two |  |  |  |  | no verified kernel |  | not recorded |" in text
    assert "2 problems: 1 won, 1 no verified kernel; geometric mean of the speed-ups 1.50x." in text
    assert "3 records, 1970-01-01" in text


def test_what_was_not_measured_is_empty(tmp_path: Path) -> None:
    best = {**BEST, "floor_share": None, "speedup_ci": {"strongest": None}}
    assert "| 1.50x |  | won |  |" in written(tmp_path, "examples.jsonl", record("one", best))
    assert "geometric mean" not in written(tmp_path, "examples.jsonl", record("one", None))


def test_an_unknown_ledger_is_listed_and_an_empty_one_is_not(tmp_path: Path) -> None:
    text = written(tmp_path, "new.jsonl", {"key": "k", "time": 86400, "command": "python -m benchmarks.new"})
    assert "- ledger: [`cpu/new.jsonl`](cpu/new.jsonl), 1 record, 1970-01-02" in text
    assert "- command: `python -m benchmarks.new`" in text
    assert "empty.jsonl" not in written(tmp_path, "empty.jsonl")


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_ledger_has_a_table(path: Path) -> None:
    assert path.stem in SECTIONS
    assert "| --- |" in "\n".join(SECTIONS[path.stem][1](Ledger(path).records()))


def test_a_new_record_carries_its_versions(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "cpu" / "new.jsonl")
    ledger.append("key", seconds=1)
    assert {"contract_version", "method_version"} <= set(ledger.records()[0])
    assert "- versions: contract " in page(tmp_path)
