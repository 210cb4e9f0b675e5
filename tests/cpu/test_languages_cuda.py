"""CUDA C++ without a GPU: cubins for sm_90 and sm_90a, checked against the plan."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from languages_cases import ARGS, SCALE_CUDA, SM_90, SM_90A, cuda

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.plan import BufferArg, IntArg, TensorMapArg
from kernelwright.core.target import Target
from kernelwright.languages import LANGUAGES, build
from kernelwright.languages.cubin import read_cubin
from kernelwright.languages.cuda_headers import include_dirs

pytest.importorskip("cuda.bindings.nvrtc")
needs_headers = pytest.mark.skipif(not include_dirs(), reason="no CUDA headers")


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KERNELWRIGHT_CUDA_COMPILER", raising=False)


@pytest.mark.parametrize("target", [SM_90, SM_90A], ids=str)
def test_a_kernel_builds_for_a_real_architecture(target: Target) -> None:
    made = build(cuda(), target)
    assert made.status == "built", made.log
    assert made.seconds < 2 and "NVRTC" in made.tool
    assert made.artifact is not None
    facts = read_cubin(Path(made.artifact))["scale"]
    assert facts.sizes == [8, 8, 8, 4]
    assert (
        made.resources["scale"]["registers"] == facts.registers
        and 0 < made.resources["scale"]["registers"] <= 32
    )
    assert made.resources["scale"] | {"registers": 0} == {
        "registers": 0, "stack_bytes": 0, "shared_bytes": 0, "spill_bytes": 0,
    }  # fmt: skip
    assert build(cuda(), target).cached


def test_wider_instructions_need_the_architecture_that_has_them() -> None:
    text = SCALE_CUDA.replace("if (i", 'asm volatile("wgmma.fence.sync.aligned;");\n    if (i')
    assert build(cuda(text), SM_90A).status == "built"
    assert build(cuda(text), SM_90).status == "failed"


@needs_headers
def test_headers_for_half_types_and_cooperative_groups() -> None:
    headers = ("cuda_fp16.h", "cuda_bf16.h", "cooperative_groups.h", "cstdint")
    text = "".join(f"#include <{header}>\n" for header in headers)
    text += SCALE_CUDA.replace("long long n", "std::int64_t n").replace(
        "x[i] * by", "__half2float(__float2half(x[i]))"
    )
    made = build(cuda(text), SM_90A)
    assert made.status == "built", made.log


def test_standard_headers_are_there_without_a_toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelwright.languages.cuda.include_dirs", lambda: ())
    text = (
        "#include <stdint.h>\n#include <cfloat>\n#include <climits>\n#include <math.h>\n#include <cstddef>\n"
        + SCALE_CUDA
    )
    text = text.replace("long long n", "int64_t n").replace("* by", "* by + FLT_MAX * sqrtf(INT_MAX)")
    made = build(cuda(text), SM_90A)
    assert made.status == "built", made.log


def test_a_missing_toolkit_header_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelwright.languages.cuda.include_dirs", lambda: ())
    with pytest.raises(EnvironmentFault, match=r"no CUDA headers for 'cuda_fp16.h'; pip install"):
        build(cuda("#include <cuda_fp16.h>\n" + SCALE_CUDA), SM_90A)


def test_all_that_the_compiler_says_comes_back_by_the_kernels_own_line() -> None:
    made = build(cuda(SCALE_CUDA.replace("x[i] * by", "x[i] * ;").replace("256ll", "foo")), SM_90A)
    assert made.status == "failed" and made.artifact is None
    assert 'kernel.cu(2): error: identifier "foo" is undefined' in made.log
    assert "kernel.cu(3): error: expected an expression" in made.log
    assert build(cuda(SCALE_CUDA.replace("x[i] * by", "x[i] * ;").replace("256ll", "foo")), SM_90A).cached


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"args": ARGS[:3]},
            "the plan passes 3 arguments (buffer 'x', buffer 'out', integer 'n'); the kernel has 4",
        ),
        (
            {"args": (*ARGS[:2], IntArg(value="n", dtype="int32"), ARGS[3])},
            "parameter 3 takes integer 'n' of 4 bytes",
        ),
        (
            {"args": (TensorMapArg(buffer="x", box=(64,)), *ARGS[1:])},
            "parameter 1 takes tensor map of 'x' of 128 bytes",
        ),
        ({"args": (BufferArg(buffer="z"), *ARGS[1:])}, "buffer 'z' that it does not declare"),
        ({"entry": "shrink"}, "no kernel 'shrink' in the source; it has: scale"),
        ({"entry": "a b"}, "is not a C identifier"),
        ({"options": ("--use_fast_math",)}, "option '--use_fast_math' is not allowed"),
        ({"options": ("--device-c",)}, "option '--device-c' is not allowed"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(changes: dict, said: str) -> None:
    made = build(cuda(**changes), SM_90A)
    assert made.status == "failed" and said in made.log


def test_a_tensor_map_parameter() -> None:
    text = """struct alignas(64) Map { unsigned long long words[16]; };
extern "C" __global__ void scale(const __grid_constant__ Map map, float *out) { out[0] = map.words[0]; }
"""
    made = build(cuda(text, args=(TensorMapArg(buffer="x", box=(64,)), BufferArg(buffer="out"))), SM_90A)
    assert made.status == "built", made.log


@pytest.mark.parametrize(
    "launch",
    [
        "scale<<<1, 1>>>(x, out, n, by);",
        "scale<\\\n<<1, 1>>>(x, out, n, by);",
        "#define L <<<\nscale L 1, 1>>>(x, out, n, by);",
    ],
)
def test_launches_from_the_device_do_not_build(launch: str) -> None:
    made = build(cuda(SCALE_CUDA.replace("if (i", launch + "\n    if (i")), SM_90A)
    assert made.status == "failed"


def test_the_device_runtime_is_not_linked() -> None:
    text = 'extern "C" __device__ int cudaDeviceSynchronize();\n' + SCALE_CUDA.replace(
        "if (i", "cudaDeviceSynchronize();\n    if (i"
    )
    assert build(cuda(text), SM_90A).status == "failed"


def test_a_comment_may_mention_a_launch() -> None:
    assert build(cuda("// run with scale<<<g, b>>>(...)\n" + SCALE_CUDA), SM_90A).status == "built"


def test_spills_are_reported() -> None:
    body = "".join(f"    float v{i} = x[i + {i}];\n" for i in range(64))
    body += "    __syncthreads();\n    out[i] = " + " * ".join(f"sinf(v{i})" for i in range(64)) + ";\n"
    text = SCALE_CUDA.replace("    if (i < n) out[i] = x[i] * by;\n", body)
    made = build(cuda(text, options=("-maxrregcount=24",)), SM_90A)
    assert made.status == "built", made.log
    assert made.resources["scale"]["spill_bytes"] > 0
    assert made.resources["scale"]["registers"] <= 24


def test_headers_of_the_kernels_own() -> None:
    sources = (
        Source(path="kernel.cu", text='#include "by.cuh"\n' + SCALE_CUDA.replace("x[i] * by", "twice(x[i])")),
        Source(path="by.cuh", text="__device__ float twice(float v) { return v + v; }\n"),
    )
    made = build(cuda(sources=sources), SM_90A)
    assert made.status == "built", made.log


def test_an_architecture_that_the_compiler_does_not_know_is_the_machines_fault() -> None:
    with pytest.raises(EnvironmentFault, match="no trivial kernel compiles for sm_20"):
        build(cuda(), Target(name="cuda", arch="sm_20"))


def test_neither_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelwright.languages.cuda._has_bindings", lambda: False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentFault, match=r"no CUDA compiler: pip install 'kernelwright\[cuda\]'"):
        build(cuda(), SM_90A)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_nvcc_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    first = build(cuda(), SM_90A)
    monkeypatch.setenv("KERNELWRIGHT_CUDA_COMPILER", "nvcc")
    second = build(cuda(), SM_90A)
    assert second.status == "built" and "nvcc" in second.tool and not second.cached
    assert second.resources["scale"].keys() == first.resources["scale"].keys()
    broken = build(cuda(SCALE_CUDA.replace("256ll", "foo")), SM_90A)
    assert 'kernel.cu(2): error: identifier "foo" is undefined' in broken.log


def test_a_crash_of_the_compiler_is_data_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "nvrtc_worker.py"
    script.write_text("import os\nos.abort()\n")
    monkeypatch.setattr(
        "kernelwright.languages.cuda.python_script", lambda _: ["/bin/sh", "-c", "kill -SEGV $$"]
    )
    monkeypatch.setattr("kernelwright.languages.cuda._blame", lambda *_: None)
    made = build(cuda(), SM_90A)
    assert made.status == "failed" and "the compiler ended with code -11" in made.log
    assert not build(cuda(), SM_90A).cached


def test_a_file_that_is_no_cubin() -> None:
    path = Path(build(cuda(), SM_90A).artifact or "")
    data = path.read_bytes()
    for broken in (b"", b"\x7fELF", data[:3000], b"\x00" * 5000):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"cubin|ELF"):
            read_cubin(path)


def test_the_key_covers_architecture_options_and_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    language = LANGUAGES.get("cuda")()

    def key(kernel: Kernel, target: Target) -> str:
        return language.key(kernel, target)

    keys = {key(cuda(), SM_90), key(cuda(), SM_90A), key(cuda(options=("--fmad=false",)), SM_90)}
    monkeypatch.setattr("kernelwright.languages.cuda.include_dirs", lambda: ("/elsewhere",))
    keys.add(key(cuda(), SM_90))
    assert len(keys) == 4


def test_reading_a_host_library_finds_no_kernels(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    (tmp_path / "a.cpp").write_text("int a;\n")
    subprocess.run(["g++", "-shared", "-fPIC", "-o", "a.so", "a.cpp"], cwd=tmp_path, check=True)
    assert read_cubin(tmp_path / "a.so") == {}
