"""Users' kernel files: parameters by name, comments, and what a mistake is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from languages_cases import CPU, SM_90A, problem

from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Kernel
from kernelwright.core.plan import BufferArg, Call, FloatArg, IntArg, Launch
from kernelwright.core.target import Target
from kernelwright.languages import build, read_kernel

NORM = """#include <cstdint>

extern "C" void norm(const float *x, const float *norm_weight, float *norm_mean, float *out,
                     std::int64_t rows, int cols, double eps, int groups,
                     std::int64_t x_numel, long out_size1) {
    for (std::int64_t i = 0; i < x_numel; ++i) out[i] = x[i];
}
"""
CUDA = """// kernelwright: {"grid": ["rows"], "block": [128], "shared_bytes": "cols * 4",
//                "domain": "cols <= 1024", "options": ["-maxrregcount=64"]}
extern "C" __global__ void __launch_bounds__(128)
norm(const float *__restrict__ x, const float *norm_weight, float *norm_mean, float *out, int cols) {
    out[blockIdx.x * cols] = x[blockIdx.x * cols];
}
"""
TRITON = """import triton
import triton.language as tl

# kernelwright: {"grid": ["rows"], "options": ["BLOCK=1024", "num_warps=2"], "int32": ["cols"]}
@triton.jit
def norm(x_ptr, norm_weight_ptr, norm_mean, out, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x_ptr + at, mask=at < cols), mask=at < cols)
"""


def read(tmp_path: Path, name: str, text: str, target: Target = CPU) -> Kernel:
    (tmp_path / name).write_text(text)
    return read_kernel(tmp_path / name, problem(), target)


def only_step(kernel: Kernel) -> Call | Launch:
    assert kernel.plan is not None
    (step,) = kernel.plan.run
    assert isinstance(step, Call | Launch)
    return step


def test_parameters_are_matched_by_name_in_their_declared_width(tmp_path: Path) -> None:
    kernel = read(tmp_path, "norm.cpp", NORM)
    assert (kernel.language, kernel.name, kernel.problem, kernel.trust) == (
        "cpp",
        "norm",
        problem().hash,
        "sealed",
    )
    assert only_step(kernel).args == (
        BufferArg(buffer="x"),
        BufferArg(buffer="norm.weight"),
        BufferArg(buffer="norm.mean"),
        BufferArg(buffer="out"),
        IntArg(value="rows"),
        IntArg(value="cols", dtype="int32"),
        FloatArg(value=1e-5, dtype="float64"),
        IntArg(value=4, dtype="int32"),
        IntArg(value="(rows) * (cols)"),
        IntArg(value="cols"),
    )
    assert kernel.plan is not None
    roles = {buffer.name: buffer.role for buffer in kernel.plan.buffers}
    assert roles == {"x": "input", "norm.weight": "weight", "norm.mean": "mutated", "out": "output"}


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_what_was_read_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))
    made = build(read(tmp_path, "norm.cpp", NORM), CPU)
    assert made.status == "built", made.log


def test_several_functions_run_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """// kernelwright: {"scratch": [{"name": "sums", "dtype": "float64", "shape": ["rows", 2]}]}
extern "C" {
static int helper(int a) { return a; }
float not_a_step(float a) { if (a > 0) { return a; } else { return 0; } }
void first(const float *x, double *sums, float *norm_mean) { for (int i = 0; i < 3; ++i) { sums[i] = x[i]; } }
void second(const double sums[], float *out) noexcept { out[0] = sums[0]; }
}
void third(float *out) {}
"""
    kernel = read(tmp_path, "two.cpp", text)
    assert kernel.plan is not None
    assert [step.entry for step in kernel.plan.run if isinstance(step, Call)] == ["first", "second"]
    sums = kernel.plan.buffer("sums")
    assert (sums.role, sums.dtype, sums.shape) == ("scratch", "float64", ("rows", 2))


def test_comments_and_strings_hold_no_functions(tmp_path: Path) -> None:
    text = NORM + '// extern "C" void a(float *x) {}\n/* extern "C" void b(float *x) {} */\n'
    text += 'const char *c = "extern \\"C\\" void d(float *x) {}";\n'
    text += 'const char *e = R"(extern "C" void f(float *x) {})";\n'
    assert only_step(read(tmp_path, "norm.cpp", text)).entry == "norm"


def test_a_launch_is_described_in_a_comment(tmp_path: Path) -> None:
    kernel = read(tmp_path, "norm.cu", CUDA, SM_90A)
    step = only_step(kernel)
    assert isinstance(step, Launch)
    assert (step.grid, step.block, step.shared_bytes) == (("rows", 1, 1), (128, 1, 1), "cols * 4")
    assert (kernel.domain, kernel.options) == ("cols <= 1024", ("-maxrregcount=64",))
    assert step.args[-1] == IntArg(value="cols", dtype="int32")


def test_each_kernel_has_its_own_launch_and_comments_give_the_order(tmp_path: Path) -> None:
    text = """// kernelwright: {"entry": "b", "grid": [1], "block": [32], "cooperative": true}
// kernelwright: {"entry": "a", "grid": ["rows", 2], "block": [64], "cluster": [2]}
extern "C" __global__ void a(float *out) {}
extern "C" __global__ void b(const float *x, float *norm_mean) {}
extern "C" __device__ void c(float y) {}
"""
    kernel = read(tmp_path, "ab.cu", text, SM_90A)
    assert kernel.plan is not None
    b, a = kernel.plan.run
    assert isinstance(a, Launch) and isinstance(b, Launch)
    assert (b.entry, b.cooperative) == ("b", True)
    assert (a.entry, a.grid, a.cluster) == ("a", ("rows", 2, 1), (2, 1, 1))


def test_a_triton_file(tmp_path: Path) -> None:
    kernel = read(tmp_path, "norm.py", TRITON, SM_90A)
    step = only_step(kernel)
    assert kernel.language == "triton" and isinstance(step, Launch)
    assert step.block == (64, 1, 1)
    assert [arg.buffer for arg in step.args[:4] if isinstance(arg, BufferArg)] == [
        "x",
        "norm.weight",
        "norm.mean",
        "out",
    ]
    assert step.args[4] == IntArg(value="cols", dtype="int32")


def test_an_open_kernel(tmp_path: Path) -> None:
    text = "import torch\nclass ModelNew(torch.nn.Module):\n    pass\n"
    kernel = read(tmp_path, "new.py", text)
    assert (kernel.language, kernel.plan, kernel.trust) == ("python", None, "open")


def test_a_whole_plan_in_a_comment(tmp_path: Path) -> None:
    plan = read(tmp_path, "norm.cpp", NORM).plan
    assert plan is not None
    text = f'// kernelwright: {{"plan": {plan.model_dump_json()}}}\n' + NORM.replace("norm_mean", "other")
    assert read(tmp_path, "plan.cpp", text).plan == plan


def test_of_two_tensors_with_one_c_name_the_one_spelt_so_is_meant(tmp_path: Path) -> None:
    twin = problem().inputs[0].model_copy(update={"name": "norm_weight"})
    both = problem().model_copy(update={"inputs": (*problem().inputs, twin)})
    (tmp_path / "k.cpp").write_text(NORM)
    assert only_step(read_kernel(tmp_path / "k.cpp", both, CPU)).args[1] == BufferArg(buffer="norm_weight")


def test_headers_beside_the_file_come_along(tmp_path: Path) -> None:
    (tmp_path / "by.h").write_text("#define BY 2\n")
    kernel = read(tmp_path, "norm.cpp", '#include "by.h"\n#include "gone.h"\n' + NORM)
    assert [source.path for source in kernel.sources] == ["norm.cpp", "by.h"]


def test_a_name_that_a_compiler_should_not_see_is_replaced(tmp_path: Path) -> None:
    assert read(tmp_path, "my norm (2).cpp", NORM).sources[0].path == "my_norm__2_.cpp"
    assert read(tmp_path, "kw_unit.cpp", NORM).sources[0].path == "kernel_kw_unit.cpp"


FORM = "no function of the form 'extern \"C\" void name(...)'"
CPP_MISTAKES = [
    (NORM.replace("*norm_weight", "*wieght"), "k.cpp:3: norm: no tensor is called 'wieght'; allowed:"),
    (NORM.replace("rows", "row"), "no size or scalar is called 'row'; allowed:"),
    (NORM.replace("rows", "row"), "did you mean 'rows'?"),
    (NORM.replace("int cols", "short cols"), "parameter 'cols' has type 'short'; allowed: pointers, int64_t"),
    (NORM.replace("int cols", "float cols"), "'cols' is a size; declare it int64_t"),
    (NORM.replace("double eps", "int eps"), "'eps' is 1e-05; declare it float or double"),
    (NORM.replace("float *out,", ""), "no function takes 'out', a result of the problem"),
    (NORM.replace("float *norm_mean,", ""), "no function takes 'norm_mean', a result"),
    (NORM.replace('extern "C" ', ""), FORM),
    (NORM.replace("void norm", "float norm"), FORM),
    ("", FORM),
    ('// kernelwright: {"domian": "x"}\n' + NORM, "k.cpp:1: kernelwright comment: 'domian'"),
    ("\n// kernelwright: {grid: 1}\n" + NORM, "k.cpp:2: kernelwright comment is not JSON"),
    ('// kernelwright: {"entry": "other"}\n' + NORM, "no function 'other'"),
]
OTHER_MISTAKES = [
    ("k.cu", CUDA.replace('"grid": ["rows"], ', ""), SM_90A, "no launch numbers for 'norm'; add a line '//"),
    ("k.cu", CUDA.replace('["rows"]', "[1, 2, 3, 4]"), SM_90A, "kernelwright comment: 'grid'"),
    ("k.cu", CUDA.replace("__global__ ", ""), SM_90A, "__global__ void name"),
    ("k.cu", CUDA, CPU, "runs on cuda, the target is cpu; give --target cuda"),
    ("k.cpp", NORM, SM_90A, "runs on cpu, the target is cuda; give --target cpu"),
    ("k.py", TRITON, CPU, "runs on cuda"),
    ("k.py", TRITON.replace("x_ptr", "y_ptr"), SM_90A, "no tensor is called 'y'"),
    ("k.py", TRITON.replace("cols", "columns"), SM_90A, "no size or scalar is called 'columns'"),
    ("k.py", TRITON.replace("@triton.jit", ""), SM_90A, "no @triton.jit function; write one"),
    ("k.py", "x = 1\n", CPU, "no class 'ModelNew'"),
    ("k.py", "def (\n", CPU, "k.py:1:"),
    ("k.txt", NORM, CPU, "allowed: .cc, .cpp, .cu, .cxx, .json, .py"),
    ("k.json", "{}", CPU, "not a kernel: no 'sources'"),
    ("k.json", "[", CPU, "not a kernel"),
    ("k.json", '{"sources": [], "name": "k"}', CPU, "not a kernel: 'problem'"),
    ("k.json", '{"sources": [{"path": "../../etc/passwd"}]}', CPU, "source path '../../etc/passwd'"),
]


@pytest.mark.parametrize(
    ("name", "text", "target", "said"),
    [*(("k.cpp", text, CPU, said) for text, said in CPP_MISTAKES), *OTHER_MISTAKES],
)
def test_a_mistake_is_told_in_one_line(
    name: str, text: str, target: Target, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, name, text, target)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"no kernel file '.*gone\.cpp'; give a \.cpp, \.cu, \.py or \.json file"
    ):
        read_kernel(tmp_path / "gone.cpp", problem(), CPU)
    (tmp_path / "binary.cpp").write_bytes(b"\xff\x00\xfe")
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        read_kernel(tmp_path / "binary.cpp", problem(), CPU)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=r"no kernel file '.*kernel\.json'"):
        read_kernel(tmp_path / "folder", problem(), CPU)
