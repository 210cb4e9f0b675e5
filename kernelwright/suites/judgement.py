"""One kernel or solution judged on one problem, or at each workload of a definition.

judge(Path("kernel.cpp"), "problem.py", target)                          one judgement
judge(Path("solution.json"), "definition.json", target, workload=...)    one for each workload
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Kernel
from kernelwright.core.problem import Mode, Problem
from kernelwright.core.target import Target
from kernelwright.core.trial import Evaluation
from kernelwright.core.verdict import Level
from kernelwright.evaluate import evaluate
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.suites.exchange.definition import Definition, read_definition
from kernelwright.suites.exchange.kernel import solution_kernel
from kernelwright.suites.exchange.problem import definition_problem
from kernelwright.suites.exchange.solution import Solution, is_solution, read_solution
from kernelwright.suites.exchange.trace import Trace, evaluation_trace
from kernelwright.suites.exchange.workload import Workload, chosen, read_workloads, workload_file

Tell = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Judgement:
    """What was judged, and what was found."""

    problem: Problem
    kernel: Kernel
    evaluation: Evaluation
    trace: Trace | None = None
    """For a workload of a definition: the same as its projects write it."""
    trial: str | None = None
    """Under which id the store has it (`kept`)."""
    second_round: tuple[str, ...] = ()
    """What is open of a second round."""

    @property
    def workload(self) -> str | None:
        """The workload's uuid, for a definition."""
        uuid = self.problem.notes.get("workload")
        return None if self.trace is None or uuid is None else str(uuid)

    @property
    def not_checked(self) -> tuple[str, ...]:
        """What the verdict itself does not know that it lacks: what a definition says and was not gone by,
        and a second round."""
        notes = self.problem.notes if self.trace is not None else {}
        said = {
            "tolerance": "the workload's own tolerance ({}): the precision contract is judged by instead",
            "constraints_on_values": "constraints on values ({}): drawn values need not meet them",
        }
        not_used = tuple(text.format(notes[name]) for name, text in said.items() if name in notes)
        return (*not_used, *self.second_round)


def judge(
    path: Path,
    source: str,
    target: Target,
    level: Level = "full",
    *,
    inputs: str | None = None,
    mode: Mode | None = None,
    workload: Path | None = None,
    uuids: tuple[str, ...] = (),
    tell: Tell = lambda event: None,
) -> list[Judgement]:
    """Judge the kernel in `path` on the problem in `source`; `workload` and `uuids` are for definitions.

    UsageError, one line, for what cannot be read; `tell` hears what begins.
    """
    if not os.path.exists(path):
        raise UsageError(
            f"no kernel file '{path}'; give a .cpp, .cu, .py or .json file or a published folder"
        )
    if Path(source).suffix == ".json":
        _only_for_files(inputs, mode)
        return list(_at_workloads(path, Path(source), target, level, workload, uuids, tell))
    if workload is not None or uuids:
        raise UsageError(f"'{source}' has no workloads; --workload and --uuid go with a definition (.json)")
    if _is_solution(path):
        raise UsageError(f"'{path}' is a solution; give its definition: --problem definition.json")
    tell({"stage": "problem", "message": f"loading {source}"})
    problem = load_problem(source, inputs, mode=mode)
    kernel = read_kernel(path, problem, target)
    return [Judgement(problem, kernel, _judged(problem, kernel, target, level, path.name, tell))]


def workload_problem(source: str, uuid: str) -> Problem:
    """The problem of one workload of the definition in `source`; UsageError, one line, if it is none."""
    definition = read_definition(Path(source))
    place, found = _workloads(definition, Path(source), None)
    point = next(each for each in found if each.uuid == uuid)
    return definition_problem(definition, point, Path(source), place.parent)


def kernel_for(path: Path, source: str, problem: Problem, target: Target) -> Kernel:
    """The kernel or solution in `path` for the problem of `source`."""
    if _is_solution(path) and Path(source).suffix == ".json":
        return solution_kernel(read_solution(path), read_definition(Path(source)), problem, target)
    return read_kernel(path, problem, target)


def _at_workloads(
    path: Path, source: Path, target: Target, level: Level,
    workload: Path | None, uuids: tuple[str, ...], tell: Tell,
) -> Iterator[Judgement]:  # fmt: skip
    definition = read_definition(source)
    solution = read_solution(path) if _is_solution(path) else None
    place, found = _workloads(definition, source, workload)
    for point in chosen(found, uuids):
        tell({"stage": "problem", "message": f"loading {source.name} at workload {point.uuid}"})
        problem = definition_problem(definition, point, source, place.parent)
        kernel = _kernel(path, solution, definition, problem, target)
        said = f"{path.name} at workload {point.uuid}"
        evaluation = _judged(problem, kernel, target, level, said, tell)
        hack = solution is None or solution.spec.languages is not None
        trace = evaluation_trace(definition.name, point, kernel.name, evaluation, can_say_hack=hack)
        yield Judgement(problem, kernel, evaluation, trace)


def _workloads(definition: Definition, source: Path, given: Path | None) -> tuple[Path, tuple[Workload, ...]]:
    place = given or workload_file(definition=source, of=definition)
    if place is None:
        raise UsageError(
            f"no workloads of '{source}': no workload.jsonl beside it, none under workloads/; "
            "give --workload FILE"
        )
    return place, read_workloads(place, definition)


def _kernel(
    path: Path, solution: Solution | None, definition: Definition, problem: Problem, target: Target
) -> Kernel:
    if solution is None:
        return read_kernel(path, problem, target)
    return solution_kernel(solution, definition, problem, target)


def _is_solution(path: Path) -> bool:
    return path.suffix == ".json" and os.path.isfile(path) and is_solution(path)


def _only_for_files(inputs: str | None, mode: Mode | None) -> None:
    given = "--inputs" if inputs is not None else "--mode" if mode is not None else None
    if given is not None:
        raise UsageError(f"{given} does not go with a definition: its workloads say what the inputs are")


def _judged(
    problem: Problem, kernel: Kernel, target: Target, level: Level, name: str, tell: Tell
) -> Evaluation:
    said = f"judging {name} at level {level}"
    tell({"stage": "gates", "message": said})
    return evaluate(
        problem,
        kernel,
        target,
        level,
        on_stage=lambda what: tell({"stage": "gates", "message": f"{said}: {what}"}),
    )
