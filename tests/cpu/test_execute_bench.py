"""The bench: two workers, a kernel judged from outside, and whatever a kernel does stays in its worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from execute_cases import (
    CPU,
    RELU_CPP,
    RELU_FILE,
    at,
    built,
    call,
    kernel,
    number,
    relu_kernel,
    tensor,
)

from kernelwright.core.errors import ProblemError, UsageError
from kernelwright.core.kernel import Kernel
from kernelwright.core.problem import Workload
from kernelwright.execute.bench import Bench
from kernelwright.execute.reports import CandidateFailed
from kernelwright.problems.load import load_problem

SIZE = 200_000
STATE = "execute_bench_functions"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    path = tmp_path_factory.mktemp("relu") / "relu.py"
    path.write_text(RELU_FILE.format(size=SIZE))
    with Bench.open(load_problem(path), target=CPU, timeout_s=3.0) as opened:
        opened.draw("a", seed=11)
        opened.draw("b", seed=12, draw="signed")
        yield opened


def relu(bench: Bench, text: str = RELU_CPP) -> Kernel:
    (spec,) = bench.problem.inputs
    made = relu_kernel(text, domain="")
    assert made.plan is not None
    buffers = tuple(
        b.model_copy(update={"shape": spec.shape, "name": {"x": spec.name}.get(b.name, b.name)})
        for b in made.plan.buffers
    )
    run = (call("relu", at(spec.name), at("out"), number(spec.shape[0])),)
    return kernel(bench.problem, text, [b.model_dump() for b in buffers], list(run))


def loaded(bench: Bench, text: str = RELU_CPP) -> None:
    made = relu(bench, text)
    bench.load(made, built(made))
    bench.prepare()


def same(bench: Bench, slot: str) -> bool:
    """Whether the outputs handed over are the reference's, judged where no candidate runs."""
    return bool(bench.reference.call(f"{STATE}:same_as_eager", slot=slot))


def test_outputs_meet_in_the_reference_worker(bench: Bench) -> None:
    loaded(bench)
    for slot in ("a", "b"):
        report = bench.run(slot)
        assert report.failure is None and report.elapsed_us is not None
        (out,) = report.tensors
        assert (out.name, out.nbytes, out.shape) == ("out", SIZE * 4, (SIZE,))
        bench.handover(slot)
        assert same(bench, slot)


def test_an_unwritten_output_is_seen(bench: Bench) -> None:
    loaded(bench, RELU_CPP.replace("i < n; ++i", "i < n - 1; ++i"))
    bench.run("a")
    bench.handover("a")
    assert not same(bench, "a")


def test_outputs_are_sampled_from_outside(bench: Bench) -> None:
    loaded(bench)
    report = bench.run("a")
    positions = [(0, 0, 8), (0, SIZE * 4 - 4, 4), (0, SIZE * 4 - 2, 4), (3, 0, 4)]
    first, last, beyond, none = bench.sample(report, positions)
    x = torch.frombuffer(
        bytearray(bench.reference.call(f"{STATE}:input_bytes", slot="a", count=8)), dtype=torch.float32
    )
    assert first is not None and torch.equal(
        torch.frombuffer(bytearray(first), dtype=torch.float32), torch.relu(x)
    )
    assert last is not None and len(last) == 4
    assert beyond is None and none is None


def test_a_timed_call_reads_its_output_and_spoils_it(bench: Bench) -> None:
    loaded(bench)
    report = bench.timed("kernel", "a", [(0, 0, 4)], spoil=True)
    assert report.us is not None and report.us > 0
    assert report.samples[0] is not None and report.samples[0] != b"\xff" * 4
    bench.keep_timed("a")
    bench.handover("a")
    assert not same(bench, "a"), "what was read had been overwritten"
    bench.timed("kernel", "a")
    bench.keep_timed("a")
    bench.handover("a")
    assert same(bench, "a")


def test_baselines_are_made_and_called(bench: Bench) -> None:
    assert bench.baseline("eager") is None
    assert bench.call("eager", "a") > 0
    reason = bench.baseline("channels_last")
    assert reason is not None and "four dimensions" in reason
    with pytest.raises(UsageError, match="unknown baseline 'numpy'"):
        bench.baseline("numpy")


def test_flush_and_null_call(bench: Bench) -> None:
    loaded(bench)
    bench.flush("kernel")
    bench.flush("eager")
    assert 0 < bench.null_us() < bench.call("kernel", "a") + 1e6


HOSTILE = {
    "segfault": ("volatile int *volatile nowhere = nullptr; *nowhere = 1;", "crash", "SIGSEGV"),
    "endless": ("for (volatile int spin = 0;; ++spin) {}", "timeout", "did not finish"),
    "abort": ("__builtin_trap();", "crash", "was ended by"),
    "far out of bounds": (
        "for (std::int64_t i = 0; i < n * 100000; i += 1024) out[i] = 1;",
        "crash",
        "was ended by",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_kernel_is_data_and_the_next_one_is_judged_well(bench: Bench, name: str) -> None:
    action, kind, words = HOSTILE[name]
    bench.timeout_s = 1.0 if name == "endless" else 20.0
    loaded(bench, RELU_CPP.replace("#pragma omp parallel for", action + "\n#pragma omp parallel for"))
    report = bench.run("a")
    assert report.failure is not None
    assert report.failure.kind == kind and words in report.failure.message
    assert report.failure.reason == "safety"
    assert report.tensors == () and report.elapsed_us is None
    again = bench.run("a").failure
    assert again == report.failure, "a kernel that failed stays failed until one is loaded"
    bench.timeout_s = 20.0
    loaded(bench)
    assert bench.run("a").failure is None
    bench.handover("a")
    assert same(bench, "a"), "slots are drawn again in the new worker"


def test_a_kernel_that_dies_while_it_loads(bench: Bench) -> None:
    dies = RELU_CPP + "namespace { struct Dies { Dies() { __builtin_trap(); } } dies; }\n"
    with pytest.raises(CandidateFailed) as caught:
        loaded(bench, dies)
    assert caught.value.failure.kind == "crash"


def test_a_plan_that_does_not_fit_is_a_contract_failure(bench: Bench) -> None:
    made = kernel(bench.problem, RELU_CPP, [tensor("y", "input", 3), tensor("out", "output", SIZE)], [])
    with pytest.raises(CandidateFailed) as caught:
        bench.load(made, built(relu(bench)))
    assert caught.value.failure.kind == "contract"
    assert "no input 'y'" in caught.value.failure.message


def test_another_workload_in_the_same_workers(bench: Bench) -> None:
    pids = (bench.reference.pid, bench.candidate.pid)
    axis = bench.problem.axes[0].name
    bench.select(Workload(name="small", axes={axis: 77}))
    bench.draw("c", seed=3)
    loaded(bench)
    assert bench.run("c").tensors[0].shape == (77,)
    bench.handover("c")
    assert same(bench, "c")
    assert (bench.reference.pid, bench.candidate.pid) == pids
    bench.select(bench.problem.base)
    assert "a" in bench.drawn, "what was drawn here waited"
    loaded(bench)
    assert bench.run("a").tensors[0].shape == (bench.problem.axes[0].size,)
    bench.handover("a")
    assert same(bench, "a")


def test_a_lost_worker_learns_every_workload_again(bench: Bench) -> None:
    small = Workload(name="small", axes={bench.problem.axes[0].name: 77})
    bench.select(small)
    bench.candidate.stop()
    loaded(bench)
    assert bench.run("c").tensors[0].shape == (77,)
    bench.handover("c")
    assert same(bench, "c")
    bench.select(bench.problem.base)
    loaded(bench)
    assert bench.run("a").failure is None
    bench.leave(small)
    bench.select(small)
    assert list(bench.drawn) == [], "what was left is gone"
    bench.select(bench.problem.base)
    bench.leave(small)


def test_a_workload_that_the_reference_refuses_is_not_selected(bench: Bench) -> None:
    with pytest.raises(ProblemError):
        bench.select(Workload(name="odd", axes={"nothing": 3}))
    assert bench.workload == bench.problem.base
    loaded(bench)
    assert bench.run("a").failure is None


def test_misuse_is_one_line(bench: Bench) -> None:
    loaded(bench)
    with pytest.raises(UsageError, match="slot 'z' is empty"):
        bench.run("z")
    with pytest.raises(ProblemError, match="unknown draw"):
        bench.draw("y", seed=1, draw="odd")
    bench.drop("a")
    with pytest.raises(UsageError, match="slot 'a' is empty"):
        bench.call("kernel", "a")
    bench.unload()
    bench.draw("a", seed=11)
    with pytest.raises(UsageError, match="no kernel is loaded"):
        bench.call("kernel", "a")
