"""Solutions of a folder beside their definitions, in either project's layout: a candidate for each workload.

    definition.json, workload.jsonl, *.json          a folder a problem (SOL-ExecBench)
    definitions/, workloads/, solutions/             a folder a kind (flashinfer-bench)

A solution finds its definition by name: the nearest one, by folders. What cannot be read is a candidate
with a reason; nothing is run here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelwright.core.errors import UsageError
from kernelwright.suites.candidate import Candidate
from kernelwright.suites.exchange.definition import Definition, read_definition
from kernelwright.suites.exchange.document import read_text
from kernelwright.suites.exchange.solution import Solution, read_solution
from kernelwright.suites.exchange.workload import read_workloads, workload_file

DEFINITION = "definition.json"
"""The file that marks a folder of SOL-ExecBench."""


def solutions_in(place: Path) -> list[Candidate]:
    """A candidate for each solution and workload beneath `place`, in a stable order."""
    definitions: dict[str, list[Path]] = {}
    solutions = []
    for file in sorted(place.rglob("*.json")):
        kind, name = _kind(file)
        if kind is Definition:
            definitions.setdefault(name, []).append(file)
        elif kind is Solution:
            solutions.append(file)
    return [found for file in solutions for found in _of(file, str(file.relative_to(place)), definitions)]


def _of(file: Path, name: str, definitions: dict[str, list[Path]]) -> Iterator[Candidate]:
    try:
        solution = read_solution(file)
        known = definitions.get(solution.definition, [])
        if not known:
            raise UsageError(
                f"no definition '{solution.definition}' in the folder; put it beside the solution"
            )
        place = max(known, key=lambda other: len(os.path.commonpath([other, file])))
        definition = read_definition(place)
        workloads = workload_file(place, definition)
        if workloads is None:
            raise UsageError(f"no workloads of '{place}'; put a workload.jsonl beside it")
        for point in read_workloads(workloads, definition):
            yield Candidate(f"{name} at {point.uuid}", str(place), file, workload=point.uuid)
    except UsageError as error:
        yield Candidate(name, "", file, str(error))


def _kind(file: Path) -> tuple[type[Any] | None, str]:
    """What a JSON file holds, by its keys, and its name; None where it is neither or cannot be read."""
    try:
        content = json.loads(read_text(file, "file"))
    except (UsageError, ValueError, RecursionError):
        return None, ""
    if not isinstance(content, dict):
        return None, ""
    if {"spec", "definition"} <= content.keys():
        return Solution, ""
    return (Definition if {"reference", "axes"} <= content.keys() else None), str(content.get("name", ""))
