"""Kernel files that are none, and kernels that misbehave: a verdict or one line, and the judge goes on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bad_input_run import CHEATS, SMALL, call, gone, refused

from kernelwright.core.target import Target
from kernelwright.evaluate import evaluate
from kernelwright.execute.bench import Bench
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.sandbox import Limits
from kernelwright.verify.slots import Slots

CPU = Target.parse("cpu")
FRAME = """{head}
extern "C" void k(const float *x, float *out, long rows, long columns) {{
    {body}
}}
"""
GOOD = "for (long i = 0; i < rows * columns; ++i) out[i] = (x[i] > 0 || x[i] != x[i] ? x[i] : 0) * 2 + 1;"
HOSTILE = {
    "kills_itself": ('extern "C" int kill(int, int); extern "C" int getpid();', "kill(getpid(), 9);"),
    "exits_well": ("#include <cstdlib>", "exit(0);"),
    "prints_without_end": ("#include <cstdio>", 'for (;;) puts("again");'),
    "forks_without_end": ('extern "C" int fork();', "for (;;) fork();"),
    "allocates_without_end": (
        "#include <vector>",
        "std::vector<std::vector<char>> a; for (;;) a.emplace_back(1 << 26, 1);",
    ),
    "ignores_that_memory_is_out": (
        "#include <cstdlib>\n#include <cstring>",
        "for (;;) memset(malloc(1 << 26), 1, 1 << 26);",
    ),
    "throws": ("#include <stdexcept>", 'throw std::runtime_error("[/bold] boom");'),
    "writes_to_nowhere": ("", "*(volatile float *)rows = *x;"),
}
WRONG = {
    "gives_nan": ("", "for (long i = 0; i < rows * columns; ++i) out[i] = 0.0f / 0.0f;"),
    "does_nothing": ("", ""),
    "divides_by_zero": ("", "volatile long zero = 0; out[0] = rows / zero;"),
}


@pytest.fixture(scope="module", autouse=True)
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELWRIGHT_DATA", str(folder / "data"))
        patch.setenv("KERNELWRIGHT_CACHE", str(tmp_path_factory.getbasetemp() / "bad_input_cache"))
        patch.chdir(folder)
        Path("small.py").write_text(SMALL)
        yield folder


@pytest.fixture(scope="module")
def slots(places: Path) -> Iterator[Slots]:
    problem = load_problem("small.py")
    limits = Limits.candidate(memory_bytes=2 << 30)
    with Bench.open(problem, problem.base, CPU, limits, timeout_s=1.5) as bench:
        yield Slots(bench)


def judged(name: str, head: str, body: str, slots: Slots) -> tuple[str, str]:
    """Verdict, and the kind of its reason."""
    path = Path(f"{name}.cpp")
    path.write_text(FRAME.format(head=head, body=body))
    problem = slots.bench.problem
    found = evaluate(problem, read_kernel(path, problem, CPU), CPU, "quick", slots, baselines=[])
    assert found.build.status == "built", found.build.log
    assert found.verdict is not None
    reason = found.verdict.reason
    assert reason is None or "\n" not in reason.message
    return found.verdict.verdict, reason.kind if reason else ""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_kernel_is_a_verdict(name: str, slots: Slots) -> None:
    before = slots.bench.candidate.pid
    verdict, kind = judged(name, *HOSTILE[name], slots)
    assert verdict == "rejected"
    assert kind in ("safety", "time", "answer"), kind
    if slots.bench.candidate.pid != before:
        assert gone({before})


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_is_a_verdict(name: str, slots: Slots) -> None:
    assert judged(name, *WRONG[name], slots)[0] == "rejected"


def test_after_all_of_them_the_same_bench_accepts_a_right_kernel(slots: Slots) -> None:
    assert judged("good", "", GOOD, slots) == ("accepted", "")
    lost = slots.bench.candidate.pid
    os.kill(lost, 9)
    assert gone({lost})
    while slots.bench.candidate.alive:  # its threads end a moment after it
        time.sleep(0.01)
    assert judged("good", "", GOOD, slots) == ("accepted", "")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.cpp", None, ["no kernel file 'none.cpp'", "give a .cpp, .cu, .py or .json file"]),
        ("empty.cpp", b"", ["no function of the form 'extern \"C\" void name(...)'", "write one"]),
        ("mangled.cpp", b"void k(const float *x, float *out) {}\n", ["no function of the form 'extern"]),
        ("other.cpp", b'extern "C" void k(float *a) {}\n', ["no tensor is called 'a'", "allowed: out, x"]),
        ("bytes.cpp", bytes(range(256)) * 8, ["'bytes.cpp' is not UTF-8 text"]),
        ("text.json", b"not json", ["text.json: not a kernel", "write_kernel"]),
        ("list.json", b"[1, 2]", ["its JSON is no object", "write_kernel"]),
        ("other.json", b'{"name": "x"}', ["no 'sources'", "write_kernel"]),
        ("number.json", b'{"sources": 3}', ["'sources' is no list of files"]),
        ("nameless.json", b'{"sources": [{"path": 3}]}', ["'sources' is no list of files"]),
        ("k.exe", b"MZ", ["allowed: .cc, .cpp, .cu, .cxx, .json, .py"]),
        ("gpu.cu", b'extern "C" __global__ void k(float *out) {}\n', ["no launch numbers for 'k'"]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_a_file_that_is_no_kernel(name: str, content: bytes | None, words: list[str]) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    refused(call("verify", name, "--problem", "small.py", "--level", "quick"), 2, *words)


def test_a_kernel_that_does_not_compile_is_rejected_with_the_compilers_words() -> None:
    Path("c [x].cpp").write_text(FRAME.format(head="", body="this is no C++;"))
    done = call("verify", "c [x].cpp", "--problem", "small.py", "--json")
    assert done.code == 3
    found = json.loads(done.out)
    assert (found["verdict"], found["reason"]["gate"]) == ("rejected", "build")
    assert ":3:" in found["reason"]["message"], "the user's own line"
    assert call("verify", "c [x].cpp", "--problem", "small.py").code == 3


def test_a_cuda_kernel_for_a_cpu_is_a_mistake_of_the_user() -> None:
    honest = CHEATS / "honest" / "other_order.cpp"
    refused(
        call("verify", honest, "--problem", CHEATS / "problem.py", "--target", "cuda"),
        2,
        "runs on cpu, the target is cuda; give --target cpu",
    )
