"""`verify` on solutions and functions: what is right is accepted, what is not gets its kind and a trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bad_input_command import shorten
from bad_input_run import CHEATS, call, refused
from exchange_cases import DEFINITION, RETURNS, SOLUTION, TRACE, WORKLOAD, WRITES, write_json

from kernelwright.cli.verdict import summary
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.core.verdict import Reason
from kernelwright.evaluate import evaluate
from kernelwright.execute.bench import Bench
from kernelwright.languages import build
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.sandbox import Limits
from kernelwright.suites.exchange.definition import Definition
from kernelwright.suites.exchange.kernel import solution_kernel
from kernelwright.suites.exchange.problem import definition_problem
from kernelwright.suites.exchange.solution import Solution
from kernelwright.suites.exchange.trace import Trace, evaluation_trace
from kernelwright.suites.exchange.workload import Workload, read_workloads
from kernelwright.suites.judgement import Judgement
from kernelwright.verify.slots import Slots

CPU = Target.parse("cpu")
EXAMPLES = Path(__file__).parents[2] / "examples" / "exchange"
WRONG = {
    "INCORRECT_NUMERICAL": RETURNS.replace("(weight * scale)", "weight"),
    "INCORRECT_SHAPE": "def run(x, weight, scale):\n    return (x * weight * scale)[:1]\n",
    "INCORRECT_DTYPE": RETURNS.replace("(weight * scale)", "(weight * scale).double()"),
    "RUNTIME_ERROR": "def run(x, weight, scale):\n    raise ValueError('<no>')\n",
    "TIMEOUT": "def run(x, weight, scale):\n    while True:\n        pass\n",
    "COMPILE_ERROR": "def run(:\n",
}


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    place = tmp_path_factory.mktemp("definition")
    definition, workload = Definition.of(DEFINITION, "d"), Workload.of(WORKLOAD, "w")
    return definition_problem(definition, workload, place / "definition.json", place)


@pytest.fixture(scope="module")
def slots(problem: Problem) -> Iterator[Slots]:
    with Bench.open(problem, problem.base, CPU, Limits.candidate(processes=8), timeout_s=3.0) as bench:
        yield Slots(bench)


def traced(slots: Slots, text: str, *, writes: bool = False, hack: bool = True) -> Trace:
    """The trace of a solution with this source."""
    spec = {**SOLUTION["spec"], "destination_passing_style": writes}
    content = {**SOLUTION, "spec": spec, "sources": [{"path": "kernel.py", "content": text}]}
    problem, solution = slots.bench.problem, Solution.of(content, "s")
    kernel = solution_kernel(solution, Definition.of(DEFINITION, "d"), problem, CPU)
    found = evaluate(problem, kernel, CPU, "quick", slots, baselines=["eager"])
    return evaluation_trace("relu_scale", Workload.of(WORKLOAD, "w"), solution.name, found, can_say_hack=hack)


@pytest.mark.parametrize(("text", "writes"), [(RETURNS, False), (WRITES, True)], ids=["returns", "writes"])
def test_a_right_solution_passes_and_its_trace_reads_back(text: str, writes: bool, slots: Slots) -> None:
    trace = traced(slots, text, writes=writes)
    record = trace.content["evaluation"]
    assert record["status"] == "PASSED", record["log"]
    assert record["performance"].keys() == {"latency_ms", "reference_latency_ms", "speedup_factor"}
    assert record["correctness"]["extra"]["relative_error"] < 1e-6
    assert record["environment"]["libs"]["torch"]
    again = Trace.parsed(trace.text(), "trace")
    assert again.content == trace.content and again.point("w").content == WORKLOAD
    judged = again.judged()
    assert judged is not None and judged.measurement is not None and judged.verdict is not None
    assert record["performance"]["latency_ms"] == judged.measurement.kernel.latency_us / 1000


@pytest.mark.parametrize("status", WRONG)
def test_a_wrong_solution_gets_the_status_of_its_fault(status: str, slots: Slots) -> None:
    trace = traced(slots, WRONG[status])
    record = trace.content["evaluation"]
    assert record["status"] == status, record["log"]
    assert record["performance"] is None
    assert (record["correctness"] is not None) == (status == "INCORRECT_NUMERICAL")


def test_after_all_of_them_a_right_one_passes(slots: Slots) -> None:
    assert traced(slots, RETURNS).content["evaluation"]["status"] == "PASSED"


def test_a_cheat_is_a_hack_where_there_is_a_word_for_it(slots: Slots, problem: Problem) -> None:
    kernel = solution_kernel(Solution.of(SOLUTION, "s"), Definition.of(DEFINITION, "d"), problem, CPU)
    found = evaluate(problem, kernel, CPU, "quick", slots, baselines=[])
    assert found.verdict is not None
    reason = Reason(gate="timed", kind="time", message="other answers while it is timed")
    caught = found.model_copy(update={"verdict": found.verdict.model_copy(update={"reason": reason})})
    statuses = [
        evaluation_trace("d", Workload.of(WORKLOAD, "w"), "s", caught, can_say_hack=known).evaluation
        for known in (True, False)
    ]
    assert [each and each.status for each in statuses] == ["REWARD_HACK", "RUNTIME_ERROR"]


FUNCTIONS = {
    "accepted": "return torch.relu(x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * weight)",
    "rejected": "return torch.relu(x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6))",
}


def test_a_plain_function_takes_inputs_and_weights(tmp_path: Path) -> None:
    problem = load_problem(str(CHEATS / "problem.py"))
    file = tmp_path / "function.py"
    with Bench.open(problem, problem.base, CPU, Limits.candidate(processes=8)) as bench:
        slots = Slots(bench)
        for verdict, line in FUNCTIONS.items():
            file.write_text(f"import torch\n\n\n@torch.no_grad()\ndef kernel(x, weight):\n    {line}\n")
            kernel = read_kernel(file, problem, CPU)
            found = evaluate(problem, kernel, CPU, "quick", slots, baselines=[]).verdict
            assert found is not None and found.verdict == verdict, found.reason


def test_the_command_judges_the_workloads_that_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch.setitem)
    traces = tmp_path / "out" / "traces.jsonl"
    definition = write_json(tmp_path / "definition.json", DEFINITION)
    write_json(tmp_path / "workload.jsonl", [WORKLOAD, {**WORKLOAD, "uuid": "v-2", "axes": {"rows": 40}}])
    solution = write_json(tmp_path / "solution.json", SOLUTION)
    page = tmp_path / "out" / "verdict.html"
    options = ("--level", "quick", "--trace", traces, "--html", page, "--uuid", "v", "--json")
    done = call("verify", solution, "--problem", definition, *options)
    assert done.code == 0, done
    found = json.loads(done.out)
    assert (found["verdict"], found["workload"]) == ("accepted", "v-2")
    assert any("the workload's own tolerance" in item for item in found["not_checked"])
    assert "Workload v-2" in page.read_text() and "the workload&#39;s own tolerance" in page.read_text()
    (line,) = traces.read_text().splitlines()
    assert Trace.parsed(line, "t").content["workload"]["uuid"] == "v-2"


def test_the_first_rejection_decides(slots: Slots, problem: Problem) -> None:
    kernel = solution_kernel(Solution.of(SOLUTION, "s"), Definition.of(DEFINITION, "d"), problem, CPU)
    good = evaluate(problem, kernel, CPU, "quick", slots, baselines=[])
    assert good.verdict is not None
    reason = Reason(gate="numeric", kind="answer", message="wrong")
    verdict = good.verdict.model_copy(update={"verdict": "rejected", "reason": reason})
    bad = good.model_copy(update={"verdict": verdict})
    judgements = [
        Judgement(
            problem.model_copy(update={"notes": {"workload": uuid}}), kernel, found, Trace.of(TRACE, "t")
        )
        for uuid, found in (("a", good), ("b", bad), ("c", bad))
    ]
    found = summary(judgements)
    assert (found["verdict"], found["workload"]) == ("rejected", "b")
    assert [(one["workload"], one["verdict"]) for one in found["workloads"]] == [
        ("a", "accepted"), ("b", "rejected"), ("c", "rejected")
    ]  # fmt: skip
    assert "workloads" not in summary([Judgement(problem, kernel, good)])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("solution.json", "problem.py"), "is a solution; give its definition: --problem definition.json"),
        (("n" * 5000 + ".json", "definition.json"), "no kernel file"),
        (("solution.json", "n" * 5000 + ".json"), "cannot read definition"),
        (("solution.json", "none.json"), "cannot read definition 'none.json': No such file"),
        (("solution.json", "alone/definition.json"), "no workload.jsonl beside it"),
        (("solution.json", "definition.json", "--uuid", "x"), "no workload 'x'; allowed: w-1"),
        (("solution.json", "definition.json", "--workload", "."), "cannot read workload file '.'"),
        (("solution.json", "definition.json", "--mode", "eval"), "--mode does not go with a definition"),
        (("kernel.py", "problem.py", "--uuid", "x"), "has no workloads"),
        (("broken.json", "definition.json"), "broken.json: not a kernel"),
        (("half.json", "definition.json"), "half.json: not a solution: 'name': Field required"),
        (("kernel.json", "definition.json"), "not a kernel: "),
        (("kernel.py", "problem.py", "--html", "."), "'--html': File '.' is a directory"),
        (("kernel.py", "problem.py", "--trace", "alone"), "'--trace': File 'alone' is a directory"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_does_not_fit_is_one_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "alone").mkdir()
    contents: dict[str, Any] = {
        "solution.json": SOLUTION, "definition.json": DEFINITION, "workload.jsonl": WORKLOAD,
        "alone/definition.json": DEFINITION, "half.json": {"spec": 1, "definition": 2}, "kernel.json": {},
    }  # fmt: skip
    for name, content in contents.items():
        write_json(tmp_path / name, content)
    for name, text in (("broken.json", "{"), ("kernel.py", RETURNS), ("problem.py", "x = 1\n")):
        (tmp_path / name).write_text(text)
    kernel, problem, *rest = arguments
    refused(call("verify", kernel, "--problem", problem, *rest), 2, said)


def test_the_example_fits_its_definition_and_builds() -> None:
    read = Definition.parsed((EXAMPLES / "definition.json").read_text(), "d")
    solution = Solution.parsed((EXAMPLES / "solution.json").read_text(), "s")
    point = read_workloads(EXAMPLES / "workload.jsonl", read)[1]
    problem = definition_problem(read, point, EXAMPLES / "definition.json", EXAMPLES)
    made = build(solution_kernel(solution, read, problem, CPU), CPU)
    assert made.status == "built", made.log
