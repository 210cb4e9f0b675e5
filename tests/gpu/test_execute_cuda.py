"""Plans on a GPU: launches with all their attributes, streams, replay, and a lost context replaced."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)
sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))

from execute_cases import RELU, RELU_BUFFERS, RELU_FILE, at, number, problem, spec, tensor  # noqa: E402

from kernelwright.core.kernel import Kernel, Source  # noqa: E402
from kernelwright.core.plan import Plan  # noqa: E402
from kernelwright.core.problem import Problem  # noqa: E402
from kernelwright.core.target import Target  # noqa: E402
from kernelwright.execute.baselines import BaselineUnavailable, baseline_names, make_baseline  # noqa: E402
from kernelwright.execute.bench import Bench  # noqa: E402
from kernelwright.execute.graphs import Replay  # noqa: E402
from kernelwright.execute.reports import KernelFault  # noqa: E402
from kernelwright.execute.runner import Runner  # noqa: E402
from kernelwright.languages import build  # noqa: E402
from kernelwright.problems.load import load_problem  # noqa: E402

CUDA = Target.parse("cuda")
RELU_CU = """extern "C" __global__ void relu(const float *x, float *out, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] < 0 ? 0.0f : x[i];
}
"""
COUNT = problem("count", axes={"n": 64}, inputs=(spec("x", "n"),), outputs=(spec("out", "n"),))


def launch(
    entry: str, *args: dict[str, Any], blocks: Any = "ceildiv(n, 256)", threads: int = 256, **more: Any
) -> Any:
    grid, block = [blocks, 1, 1], [threads, 1, 1]
    return {"kind": "launch", "entry": entry, "grid": grid, "block": block, "args": list(args), **more}


RELU_RUN = [launch("relu", at("x"), at("out"), number("n"))]


def device_kernel(of: Problem, text: str, buffers: list[Any], run: list[Any]) -> Kernel:
    plan = Plan.model_validate({"buffers": buffers, "run": run})
    return Kernel(
        name="by_hand", problem=of.hash, language="cuda", sources=(Source(path="k.cu", text=text),), plan=plan
    )


def runner_of(of: Problem, text: str, buffers: list[Any], run: list[Any]) -> Runner:
    made = device_kernel(of, text, buffers, run)
    found = build(made, CUDA)
    assert found.status == "built", found.log
    runner = Runner(made, found, of, of.axis_sizes, "cuda")
    runner.prepare({})
    return runner


@pytest.fixture(scope="module")
def relu() -> Runner:
    return runner_of(RELU, RELU_CU, RELU_BUFFERS, RELU_RUN)


def test_relu(relu: Runner) -> None:
    x = torch.randn(1000, device="cuda")
    assert torch.equal(relu.run([x])[0], torch.relu(x))


def test_a_misaligned_input_is_copied(relu: Runner) -> None:
    long = torch.randn(1001, device="cuda")
    assert torch.equal(relu.run([long[1:]])[0], torch.relu(long[1:]))


def test_it_runs_on_the_current_stream(relu: Runner) -> None:
    side = torch.cuda.Stream()
    x = torch.randn(1000, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        x.add_(1)
        (out,) = relu.run([x])
    side.synchronize()
    assert torch.equal(out, torch.relu(x))


def test_a_cluster_is_launched_as_one() -> None:
    text = """extern "C" __global__ void size(float *out) {
        unsigned n;
        asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(n));
        if (threadIdx.x == 0) out[blockIdx.x] = n;
    }"""
    buffers = [tensor("out", "output", "n")]
    for blocks in (2, 16):
        run = [launch("size", at("out"), blocks="n", threads=32, cluster=[blocks, 1, 1])]
        (out,) = runner_of(COUNT, text, buffers, run).run([torch.zeros(64, device="cuda")])
        assert out.tolist() == [blocks] * 64


@pytest.mark.parametrize("nbytes", [40 << 10, 100 << 10, 227 << 10])
def test_dynamic_shared_memory(nbytes: int) -> None:
    text = """extern "C" __global__ void last(const float *x, float *out, int words) {
        extern __shared__ float shared[];
        for (int i = threadIdx.x; i < words; i += blockDim.x) shared[i] = i;
        __syncthreads();
        out[threadIdx.x] = x[threadIdx.x] + shared[words - 1 - threadIdx.x];
    }"""
    words = nbytes // 4
    args = (at("x"), at("out"), {"kind": "int", "value": words, "dtype": "int32"})
    run = [launch("last", *args, blocks=1, threads=64, shared_bytes=nbytes)]
    x = torch.randn(64, device="cuda")
    (out,) = runner_of(COUNT, text, COUNT_BUFFERS, run).run([x])
    expected = words - 1 - torch.arange(64, device="cuda", dtype=torch.float32)
    assert torch.equal(out, x + expected)


COUNT_BUFFERS = [tensor("x", "input", "n"), tensor("out", "output", "n")]


def test_cooperative_and_programmatic_launches() -> None:
    text = """extern "C" __global__ void first(const float *x, float *t) {
        t[threadIdx.x] = x[threadIdx.x] + 1;
    }
    extern "C" __global__ void second(const float *t, float *out) {
        asm volatile("griddepcontrol.wait;" ::: "memory");
        out[threadIdx.x] = 2 * t[threadIdx.x];
    }"""
    buffers = [*COUNT_BUFFERS, tensor("t", "scratch", "n")]
    run = [
        launch("first", at("x"), at("t"), blocks=1, threads=64, cooperative=True),
        launch("second", at("t"), at("out"), blocks=1, threads=64, programmatic=True),
    ]
    runner = runner_of(COUNT, text, buffers, run)
    for _ in range(50):
        x = torch.randn(64, device="cuda")
        assert torch.equal(runner.run([x])[0], (x + 1) * 2)


def test_streams_wait_for_what_they_say() -> None:
    text = """extern "C" __global__ void slow(const float *x, float *t, int n) {
        long long start = clock64();
        while (clock64() - start < 2000000) {}
        t[threadIdx.x] = x[threadIdx.x] + n;
    }
    extern "C" __global__ void sum(const float *a, const float *b, float *out) {
        out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
    }"""
    buffers = [*COUNT_BUFFERS, tensor("a", "scratch", "n"), tensor("b", "scratch", "n")]
    one, two = ({"kind": "int", "value": value, "dtype": "int32"} for value in (1, 2))
    run = [
        launch("slow", at("x"), at("a"), one, blocks=1, threads=64, stream=1),
        launch("slow", at("x"), at("b"), two, blocks=1, threads=64, stream=2),
        launch("sum", at("a"), at("b"), at("out"), blocks=1, threads=64, after=[0, 1]),
    ]
    runner = runner_of(COUNT, text, buffers, run)
    for _ in range(20):
        x = torch.randn(64, device="cuda")
        torch.testing.assert_close(runner.run([x], poison=True)[0], 2 * x + 3)
    x = torch.randn(64, device="cuda")
    replay = Replay([lambda: runner.run([x])])
    x.fill_(1)
    replay.replay()
    assert replay.results[0][0].tolist() == [5.0] * 64


def test_memset_copy_and_a_library_step() -> None:
    square = problem(
        "square", axes={"n": 32}, inputs=(spec("x", "n", "n"),), outputs=(spec("out", "n", "n"),)
    )
    buffers = [
        tensor(name, role, "n", "n") for name, role in (("x", "input"), ("out", "output"), ("t", "scratch"))
    ]
    relu = launch("relu", at("t"), at("out"), number("n * n"))
    run = [
        {"kind": "memset", "buffer": "t"},
        {
            "kind": "library",
            "op": "aten.mm.out",
            "inputs": [{"buffer": "x"}, {"buffer": "x"}],
            "outputs": ["t"],
        },
        {**relu, "grid": [4, 1, 1]},
        {"kind": "copy", "source": "out", "destination": "t"},
    ]
    x = torch.randn(32, 32, device="cuda")
    (out,) = runner_of(square, RELU_CU, buffers, run).run([x])
    torch.testing.assert_close(out, torch.relu(x @ x))


def test_replay_over_rotating_slots(relu: Runner) -> None:
    slots = [torch.randn(1000, device="cuda") for _ in range(3)]
    replay = Replay([lambda x=x: relu.run([x]) for x in slots], rounds=4)
    assert replay.launches == 12
    for x in slots:
        x.normal_()
    replay.replay()
    torch.cuda.synchronize()
    for x, (out,) in zip(slots, replay.results, strict=True):
        assert torch.equal(out, torch.relu(x))


def test_a_launch_that_the_device_refuses_is_a_fault_and_harms_nothing(relu: Runner) -> None:
    text = """extern "C" __global__ void __launch_bounds__(64) narrow(float *out) { out[threadIdx.x] = 1; }"""
    run = [launch("narrow", at("out"), blocks=1, threads=1024)]
    with pytest.raises(KernelFault, match=r"entry 'narrow'.*CUDA_ERROR"):
        runner_of(COUNT, text, [tensor("out", "output", "n")], run).run([torch.zeros(64, device="cuda")])
    x = torch.randn(1000, device="cuda")
    assert torch.equal(relu.run([x])[0], torch.relu(x))


@pytest.mark.filterwarnings("ignore")  # torch's own, such as that a graph was empty on a first try
@pytest.mark.parametrize("name", baseline_names("cuda"))
def test_baselines_give_what_eager_gives(name: str) -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()).cuda()
    args = [torch.randn(2, 3, 16, 16, device="cuda")]
    try:
        call = make_baseline(name, module, args, "cuda")
    except BaselineUnavailable as error:
        pytest.fail(str(error))
    with torch.no_grad():
        torch.testing.assert_close(call(args), module(*args), rtol=1e-2, atol=1e-2)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    path = tmp_path_factory.mktemp("relu") / "relu.py"
    path.write_text(RELU_FILE.format(size=1 << 20))
    with Bench.open(load_problem(path), target=CUDA, timeout_s=10.0) as opened:
        opened.draw("a", seed=11)
        yield opened


def loaded(bench: Bench, action: str = "") -> None:
    buffers = [
        tensor(one.name, role, *one.shape)
        for role, specs in (("input", bench.problem.inputs), ("output", bench.problem.outputs))
        for one in specs
    ]
    size = bench.problem.inputs[0].shape[0]
    step = launch(
        "relu", at(bench.problem.inputs[0].name), at("out"), number(size), blocks=f"ceildiv({size}, 256)"
    )
    made = device_kernel(
        bench.problem, RELU_CU.replace("if (i < n)", action + " if (i < n)"), buffers, [step]
    )
    bench.load(made, build(made, CUDA))
    bench.prepare()


def same(bench: Bench) -> bool:
    return bool(bench.reference.call("execute_bench_functions:same_as_eager", slot="a"))


HOSTILE = {
    "illegal address": ("*(volatile int *)(n * 0) = 1;", "crash"),
    "trap": ("asm volatile(\"trap;\");", "crash"),
    "endless": ("for (volatile int spin = 0;; ++spin) {}", "timeout"),
}  # fmt: skip


def test_outputs_reach_the_truth_in_another_context(bench: Bench) -> None:
    assert bench.reference.pid != bench.candidate.pid
    loaded(bench)
    assert bench.run("a").failure is None
    bench.handover("a")
    assert same(bench)
    bench.unload()
    assert same(bench)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_lost_context_is_replaced(bench: Bench, name: str) -> None:
    action, kind = HOSTILE[name]
    loaded(bench, action)
    report = bench.run("a")
    assert report.failure is not None and report.failure.kind == kind
    loaded(bench)
    assert bench.run("a").failure is None
    assert same(bench)
    assert bench.call("kernel", "a") > 0 and bench.call("eager", "a") > 0
