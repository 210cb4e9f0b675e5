"""Gate `provenance`: sums in half precision are rejected where the reference has none, run or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from languages_cases import SM_90A, cuda

from kernelwright.cli.verdict import document
from kernelwright.core.kernel import Kernel
from kernelwright.core.plan import Buffer, Library, Plan, Repeat
from kernelwright.core.problem import NumericFlags, Problem
from kernelwright.core.target import Target
from kernelwright.core.verdict import GateResult, Verdict
from kernelwright.evaluate import AFTER, BEFORE, FIRST, evaluate
from kernelwright.execute.library import FRESH, OUT
from kernelwright.languages import build
from kernelwright.languages.kernel_file import read_kernel
from kernelwright.problems import load_problem
from kernelwright.sass import Code, Unreadable, Use, read
from kernelwright.sass.code import Section
from kernelwright.verify import provenance
from kernelwright.verify.base import GATES, Case, run_gate
from kernelwright.verify.library_use import CONVOLUTIONS, MATMULS, SUMS, library_uses

CHEATS = Path(__file__).parents[1] / "cheats"
FILES = sorted((CHEATS / "cuda").glob("precision/*.cu")) + sorted((CHEATS / "cuda").glob("honest/*.cu"))
HALF_SUMS = {
    "half_matrix_sum": "HMMA.16816.F16",
    "half_sum": "HFMA2",
    "half_sum_in_another_kernel": "HFMA2",
    "half_sum_in_memory": "H",
    "half_sum_where_nobody_looks": "HMMA.1688.F16",
}
"""Kernels that only this gate can be sure to find, and what it finds."""
CPU = Target.parse("cpu")
ADD_NOTHING = {
    "select_scatter", "slice_scatter",
    "adaptive_max_pool2d", "all", "amax", "amin", "any", "argmax", "argmin", "cat", "clone",
    "constant_pad_nd", "cummax", "cummin", "cumprod", "embedding", "flip", "gather", "im2col", "index",
    "index_select", "kthvalue", "max", "max_pool2d_with_indices", "max_pool3d_with_indices", "min",
    "pixel_shuffle", "prod",
    "reflection_pad1d", "reflection_pad2d", "repeat", "replication_pad2d", "roll", "scatter", "sort", "stack",
    "topk", "tril", "triu", "upsample_nearest1d", "upsample_nearest2d", "where",
}  # fmt: skip
"""Library operations that copy, choose, compare or multiply up."""

pytest.importorskip("cuda.bindings.nvrtc")


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(str(CHEATS / "problem.py"))


@pytest.fixture(scope="module", autouse=True)
def fresh_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELWRIGHT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def case_of(problem: Problem, kernel: Kernel) -> Case:
    made = build(kernel, SM_90A)
    assert made.status == "built", made.log
    return Case(problem=problem, kernel=kernel, target=SM_90A, level="quick", build=made)


def judged(case: Case) -> GateResult:
    return run_gate(provenance.ProvenanceGate(), case)


def with_code(monkeypatch: pytest.MonkeyPatch, *uses: Use) -> None:
    """Let the machine code of `scale` be these instructions."""
    section = Section(name="scale", entry=True, instructions=len(uses), uses=uses)
    monkeypatch.setattr(provenance, "read_code", lambda _: Code(tool="nvdisasm", sections=(section,)))


def use(instruction: str, kind: Any, result: str | None, *operands: str) -> Use:
    return Use(instruction=instruction, kind=kind, operands=operands, result=result, count=3)


@pytest.fixture
def scale(problem: Problem) -> Case:
    made = build(cuda(), SM_90A)
    return Case(problem=problem, kernel=cuda(), target=SM_90A, level="quick", build=made)


needs_tools = pytest.mark.skipif(not read.disassemblers(), reason="no nvdisasm")


@needs_tools
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_hostile_and_honest_kernels(path: Path, problem: Problem) -> None:
    found = judged(case_of(problem, read_kernel(path, problem, SM_90A)))
    if path.stem in HALF_SUMS:
        assert (found.status, found.kind) == ("fail", "precision")
        assert HALF_SUMS[path.stem] in found.message
        (name,) = (name for name in found.evidence["kernels"] if f"'{name}'" in found.message)
        told = found.evidence["kernels"][name]
        assert any(one["result"] == "float16" and one["kind"] in ("sum", "matrix") for one in told)
        assert ("does not launch" in found.message) == (name != "rms_relu")
    else:
        assert found.status == "pass", found.message
    assert "\n" not in found.message


@needs_tools
def test_a_split_product_is_labelled(problem: Problem) -> None:
    path = CHEATS / "cuda" / "honest" / "split_products.cu"
    split = judged(case_of(problem, read_kernel(path, problem, SM_90A)))
    assert split.evidence["labels"] == ["tf32 products added up in float32"] == [split.message]
    (product,) = (one for one in split.evidence["kernels"]["rms_relu"] if one["kind"] == "matrix")
    assert (product["operands"], product["result"], product["count"]) == (["tf32"], "float32", 3)
    assert split.evidence["not_launched"] == []


@needs_tools
def test_a_verdict_needs_no_device_where_this_gate_rejects(problem: Problem) -> None:
    kernel = read_kernel(CHEATS / "cuda" / "precision" / "half_sum.cu", problem, SM_90A)
    found = document(evaluate(problem, kernel, SM_90A))
    assert found["verdict"] == "rejected" and found["reason"]["gate"] == "provenance"
    (gate,) = (one for one in found["gates"] if one["name"] == "provenance")
    assert json.loads(json.dumps(gate))["evidence"]["kernels"]["rms_relu"]
    assert "numeric: not reached" in found["not_checked"]


@needs_tools
def test_where_the_reference_computes_in_halves_a_kernel_may(problem: Problem) -> None:
    path = CHEATS / "cuda" / "precision" / "half_matrix_sum.cu"
    case = case_of(problem, read_kernel(path, problem, SM_90A))
    case.problem = problem.model_copy(update={"float_types": ("float16", "float32")})
    assert judged(case).status == "pass"
    case.problem = problem.model_copy(update={"float_types": ("bfloat16",)})
    assert judged(case).status == "pass"
    case.problem = problem.model_copy(update={"float_types": ("float32", "float64")})
    assert judged(case).status == "fail"


ACCUMULATORS = [
    (("float32",), "float16", True),
    (("float32",), "bfloat16", True),
    (("float32", "float64"), "float16", True),
    (("float16", "float32"), "float16", False),
    (("float16",), "bfloat16", True),
    (("bfloat16",), "float16", False),
    (("float64",), "float32", False),
    (("float32",), "int32", False),
]


@pytest.mark.parametrize(("types", "result", "rejected"), ACCUMULATORS)
@pytest.mark.parametrize("kind", ["matrix", "sum"])
def test_only_a_sum_that_is_coarser_than_all_of_the_reference_is_rejected(
    types: tuple[str, ...],
    result: str,
    rejected: bool,
    kind: str,
    scale: Case,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_code(monkeypatch, use("HMMA.16816", kind, result, "float16"))
    scale.problem = scale.problem.model_copy(update={"float_types": types})
    assert judged(scale).status == ("fail" if rejected else "pass")


@pytest.mark.parametrize(
    ("found", "label"),
    [
        (
            use("HMMA.16816.F32.BF16", "matrix", "float32", "bfloat16"),
            "bfloat16 products added up in float32",
        ),
        (
            use("IMMA.16832.S8.U8", "matrix", "int32", "int8", "uint8"),
            "int8 and uint8 products added up in int32",
        ),
        (use("HMUL2", "product", "float16"), "products in float16"),
        (use("MUFU.TANH.F16", "function", "float16"), "functions in float16"),
        (use("F2FP.BF16.F32.PACK_AB", "conversion", "bfloat16"), "values rounded to bfloat16"),
        (use("MUFU.RSQ", "approximation", "float32"), ""),
        (use("DMMA.8x8x4", "matrix", "float64", "float64"), ""),
    ],
)
def test_what_is_decided_by_results_is_labelled(
    found: Use, label: str, scale: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_code(monkeypatch, found)
    result = judged(scale)
    assert (result.status, result.message) == ("pass", label)
    assert result.evidence["kernels"]["scale"] == [found.model_dump(mode="json")]


@pytest.mark.parametrize(
    ("found", "types", "said"),
    [
        (use("UTCHMMA", "matrix", None), ("float32",), "UTCHMMA in 'scale' does not tell its types"),
        (use("HNEW2", "unknown", None), ("float32",), "HNEW2 in 'scale' does not tell its types"),
        (use("HMUL2", "product", "float16"), (), "not known in which floating types the reference computes"),
    ],
)
def test_what_is_not_known_is_not_passed(
    found: Use, types: tuple[str, ...], said: str, scale: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_code(monkeypatch, found)
    scale.problem = scale.problem.model_copy(update={"float_types": types})
    result = judged(scale)
    assert result.status == "skipped" and said in result.message and result.evidence["kernels"]
    assert any(said in item for item in Verdict.of([result], "quick", 2, []).not_checked)


def test_a_sum_is_rejected_also_beside_what_is_not_known(
    scale: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_code(monkeypatch, use("UTCHMMA", "matrix", None), use("HADD2", "sum", "float16"))
    assert judged(scale).status == "fail"


def test_a_machine_without_a_disassembler_says_so(scale: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(_: Path) -> Code:
        raise Unreadable("no nvdisasm on this machine; pip install nvidia-cuda-nvdisasm")

    monkeypatch.setattr(provenance, "read_code", unreadable)
    found = judged(scale)
    assert found.status == "skipped" and "pip install" in found.message
    assert scale.build is not None and provenance.read_ahead(scale.build) == scale.build


@needs_tools
def test_read_ahead_leaves_nothing_for_the_gate(scale: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scale.build is not None
    provenance.read_ahead(scale.build)
    monkeypatch.setattr(read, "disassemblers", list)
    found = judged(scale)
    assert found.status == "pass" and found.seconds < 0.5


def test_code_of_a_cpu_and_of_open_kernels_is_not_read(problem: Problem) -> None:
    for path, word in (("honest/pairwise.cpp", "CPU"), ("open/honest/fused.py", "open kernel")):
        kernel = read_kernel(CHEATS / path, problem, CPU)
        found = judged(Case(problem=problem, kernel=kernel, target=CPU, level="quick"))
        assert found.status == "skipped" and word in found.message


def library(op: str, dtype: Any, *, repeated: bool = False) -> Kernel:
    buffers = tuple(
        Buffer(name=name, role=role, dtype=kind, shape=(8, 8))  # type: ignore[arg-type]
        for name, role, kind in (("x", "input", "float32"), ("a", "scratch", dtype), ("out", "output", dtype))
    )
    step: Any = Library(op=op, inputs=({"buffer": "a"}, [{"buffer": "a"}]), outputs=("out",))
    plan = Plan(buffers=buffers, run=(Repeat(index="i", count=4, steps=(step,)) if repeated else step,))
    return cuda().model_copy(update={"plan": plan})


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize(
    "op", ["aten.mm.out", "aten.convolution.out", "aten.sum.IntList_out", "aten.scatter_add.out"]
)
def test_library_steps_that_add_up_in_halves(op: str, repeated: bool, scale: Case) -> None:
    scale.kernel = library(op, "bfloat16", repeated=repeated)
    found = judged(scale)
    assert (found.status, found.kind) == ("fail", "precision")
    assert f"{op} adds up into bfloat16" in found.message
    scale.problem = scale.problem.model_copy(update={"float_types": ("bfloat16", "float32")})
    assert judged(scale).status != "fail"


@pytest.mark.parametrize(
    ("op", "flags", "device", "operands"),
    [
        ("aten.mm.out", NumericFlags(tf32_matmul=True), "cuda", ("tf32",)),
        ("aten.mm.out", NumericFlags(tf32_matmul=False), "cuda", ("float32",)),
        ("aten.mm.out", NumericFlags(tf32_matmul=True), "cpu", ("float32",)),
        ("aten.convolution.out", NumericFlags(), "cuda", ("tf32",)),
        ("aten.convolution.out", NumericFlags(tf32_conv=False), "cuda", ("float32",)),
        ("aten.sum.IntList_out", NumericFlags(tf32_matmul=True), "cuda", ("float32",)),
    ],
)
def test_flags_say_whether_products_of_the_library_are_tf32(
    op: str,
    flags: NumericFlags,
    device: str,
    operands: tuple[str, ...],
    scale: Case,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (found,) = library_uses(library(op, "float32").plan, flags, device)
    assert (found.op, found.operands, found.result) == (op, operands, "float32")
    with_code(monkeypatch)
    scale.kernel = library(op, "float32")
    scale.problem = scale.problem.model_copy(update={"flags": flags})
    if device == "cuda":
        wanted = "tf32 products of the library" if operands == ("tf32",) else ""
        assert judged(scale).message == wanted


def test_of_every_library_operation_it_is_said_whether_it_adds_up() -> None:
    allowed = {op.split(".")[1] for op in OUT | FRESH}
    assert allowed == ADD_NOTHING | MATMULS | CONVOLUTIONS | SUMS
    assert not ADD_NOTHING & (MATMULS | CONVOLUTIONS | SUMS)


def test_what_only_moves_values_adds_nothing_up() -> None:
    assert library_uses(library("aten.index_select.out", "float16").plan, NumericFlags(), "cuda") == []
    assert library_uses(library("aten.sum.IntList_out", "int64").plan, NumericFlags(), "cuda") == []


def test_every_gate_runs_once_in_an_evaluation() -> None:
    assert list(GATES.names()) == [*FIRST, *BEFORE, *AFTER]
