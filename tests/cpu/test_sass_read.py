"""Cubins of our own compilers, read through the disassembler: every kernel, whatever may run, or a reason."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from languages_cases import SM_90A, cuda, executable, triton

from kernelwright.cli.machine import machine_document
from kernelwright.core.plan import BufferArg
from kernelwright.languages import build
from kernelwright.sass import Code, Unreadable, Use, read, read_code

pytest.importorskip("cuda.bindings.nvrtc")
pytestmark = pytest.mark.skipif(not read.disassemblers(), reason="no nvdisasm")

BUFFERS = tuple(BufferArg(buffer=name) for name in ("x", "out"))
KERNELS = """
typedef float (*Of)(float);
__device__ __noinline__ float plain(float v) { return v * v + 1; }
__device__ __noinline__ float halves(float v) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(pair) : "f"(v));
    asm("fma.rn.f16x2 %0, %0, %0, %0;" : "+r"(pair));
    return __uint_as_float(pair);
}
__device__ Of table[2] = {plain, halves};

extern "C" __global__ void scale(const float *x, float *out) { out[0] = plain(x[0]) + rsqrtf(x[1]); }
extern "C" __global__ void calls(const float *x, float *out) { out[0] = halves(x[0]); }
extern "C" __global__ void points(const float *x, float *out) { out[0] = table[x[1] > 0](x[0]); }

#define MMA(type, c, a, b) \\
    asm volatile("mma.sync.aligned." type " {%0, %1, %2, %3}, {" a "}, {" b "}, {%0, %1, %2, %3};" \\
                 : "+" c(s[0]), "+" c(s[1]), "+" c(s[2]), "+" c(s[3]) : "r"(word), "r"(word))
extern "C" __global__ void products(const float *x, float *out) {
    const unsigned word = __float_as_uint(x[threadIdx.x]);
    float s[4] = {0, 0, 0, 0};
    MMA("m16n8k8.row.col.f32.tf32.tf32.f32", "f", "%4, %5, %4, %5", "%4, %5");
    MMA("m16n8k16.row.col.f32.bf16.bf16.f32", "f", "%4, %5, %4, %5", "%4, %5");
    MMA("m16n8k16.row.col.f32.f16.f16.f32", "f", "%4, %5, %4, %5", "%4, %5");
    unsigned h[2] = {0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                 "{%0, %1}, {%2, %2, %2, %2}, {%2, %2}, {%0, %1};"
                 : "+r"(h[0]), "+r"(h[1]) : "r"(word));
    out[0] = s[0] + s[1] + s[2] + s[3] + h[0] + h[1];
    {
        int s[4] = {0, 0, 0, 0};
        MMA("m16n8k32.row.col.s32.s8.u8.s32", "r", "%4, %5, %4, %5", "%4, %5");
        out[1] = s[0] + s[1] + s[2] + s[3];
    }
    double d[2] = {x[0], x[1]};
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%0}, {%1}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1]));
    out[2] = d[0] + d[1];
}
extern "C" __global__ void grouped(const float *x, float *out) {
    const unsigned word = __float_as_uint(x[threadIdx.x]);
    float s[4] = {0, 0, 0, 0};
    asm volatile("wgmma.fence.sync.aligned;"
                 "wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e4m3 {%0, %1, %2, %3}, %4, %4, 1, 1, 1;"
                 "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %4, 1, 1, 1;"
                 "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
                 : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]) : "l"((long long)word));
    out[0] = s[0] + s[1] + s[2] + s[3];
}
extern "C" __global__ void empty(const float *x, float *out) {
    out[0] = x[0];
    asm volatile("wgmma.fence.sync.aligned; wgmma.commit_group.sync.aligned;"
                 "wgmma.wait_group.sync.aligned 0;");
}
"""
DOT = """import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, SIZE: tl.constexpr, PRECISION: tl.constexpr):
    at = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.dot(x, x, input_precision=PRECISION))
"""


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELWRIGHT_CACHE", str(tmp_path_factory.mktemp("cache")))
        made = build(cuda(KERNELS, args=BUFFERS), SM_90A)
        assert made.status == "built", made.log
        yield Path(made.artifact or "")


@pytest.fixture(scope="module")
def code(cubin: Path) -> Code:
    return read_code(cubin)


def uses(code: Code, kernel: str) -> tuple[Use, ...]:
    (found,) = (section.uses for section in code.sections if section.entry and section.name == kernel)
    return found


def told(code: Code, kernel: str, kind: str) -> set[tuple[str, str | None]]:
    return {("/".join(use.operands), use.result) for use in uses(code, kernel) if use.kind == kind}


def test_every_kind_of_matrix_instruction(code: Code) -> None:
    assert told(code, "products", "matrix") == {
        ("tf32", "float32"), ("bfloat16", "float32"), ("float16", "float32"), ("float16", "float16"),
        ("int8/uint8", "int32"), ("float64", "float64"),
    }  # fmt: skip
    assert told(code, "grouped", "matrix") == {
        ("float8_e5m2/float8_e4m3", "float32"), ("tf32", "float32"),
    }  # fmt: skip
    assert uses(code, "empty") == ()


def test_kernels_of_a_module_are_told_apart_and_functions_belong_to_their_callers(code: Code) -> None:
    assert {section.name for section in code.sections if section.entry} == {
        "scale", "calls", "points", "products", "grouped", "empty",
    }  # fmt: skip
    half = ("", "float16")
    assert half in told(code, "calls", "sum") and half in told(code, "points", "sum")
    assert half not in told(code, "scale", "sum")
    assert [use.instruction for use in uses(code, "scale")] == ["MUFU.RSQ"]


@pytest.mark.parametrize(("precision", "count"), [("tf32", 1), ("tf32x3", 3)])
def test_triton_and_its_split_products(
    precision: str, count: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("triton.backends.nvidia")
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    options = ("SIZE=64", f'PRECISION="{precision}"', "num_warps=4")
    made = build(triton(DOT, args=BUFFERS, options=options, block=(128, 1, 1)), SM_90A)
    assert made.status == "built", made.log
    found = read_code(Path(made.artifact or ""))
    assert told(found, "scale", "matrix") == {("tf32", "float32")}
    assert sum(use.count for use in uses(found, "scale") if use.kind == "matrix") == 8 * count


def test_what_was_read_is_kept_until_the_cubin_changes(
    cubin: Path, code: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copy(cubin, tmp_path))
    assert read_code(copy) == code
    monkeypatch.setattr(read, "disassemblers", list)
    assert read_code(copy) == code
    kept = tmp_path / read.KEPT
    for damaged in ("", "{}", kept.read_text().replace('"format":1', '"format":0'), kept.read_text()[:-9]):
        kept.write_text(damaged)
        with pytest.raises(Unreadable, match="no nvdisasm"):
            read_code(copy)
    copy.write_bytes(cubin.read_bytes() + b"\0")
    with pytest.raises(Unreadable, match="no nvdisasm"):
        read_code(copy)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_folder_that_cannot_be_written_keeps_nothing(
    cubin: Path, code: Code, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("read only")

    monkeypatch.setattr(read, "_load", lambda *_: None)
    monkeypatch.setattr(Path, "write_text", refuse)
    assert read_code(cubin) == code


@pytest.mark.parametrize("keep", [0, 4, 64, 1000, 5000])
def test_a_file_that_is_no_whole_cubin_is_unreadable(cubin: Path, keep: int, tmp_path: Path) -> None:
    broken = tmp_path / "kernel.cubin"
    broken.write_bytes(cubin.read_bytes()[:keep])
    with pytest.raises(Unreadable) as raised:
        read_code(broken)
    assert "\n" not in str(raised.value) and not (tmp_path / read.KEPT).exists()
    with pytest.raises(Unreadable, match="cannot be read"):
        read_code(tmp_path / "missing.cubin")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 3", "nvdisasm failed: code 3"),
        ("echo 'unknown architecture' >&2; exit 1", "unknown architecture"),
        ("true", "there is no code"),
        ("sleep 60", "took longer than 0.3 s"),
        ("kill -SEGV $$", "nvdisasm failed"),
    ],
)
def test_a_tool_that_fails_is_said_and_the_next_is_tried(
    script: str, said: str, cubin: Path, code: Code, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = executable(tmp_path / "nvdisasm", f"#!/bin/sh\n{script.replace('sleep', 'exec sleep')}\n")
    others = read.disassemblers()
    monkeypatch.setattr(read, "_load", lambda *_: None)
    monkeypatch.setattr(read, "_store", lambda *_: None)
    monkeypatch.setattr(read, "disassemblers", lambda: [broken])
    monkeypatch.setattr(read, "TIMEOUT_S", 0.3)
    with pytest.raises(Unreadable, match=said):
        read_code(cubin)
    monkeypatch.setattr(read, "TIMEOUT_S", 60.0)
    if "sleep" not in script:
        monkeypatch.setattr(read, "disassemblers", lambda: [broken, *others])
        assert read_code(cubin) == code


def test_doctor_says_what_reads_machine_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = machine_document()["tools"]["nvdisasm"]
    assert found["available"] and found["tool"].startswith("nvdisasm V")
    monkeypatch.setattr(read, "disassemblers", list)
    broken = executable(tmp_path / "nvdisasm", "no program")
    assert read.version_of(broken) == "nvdisasm"
    lacking = machine_document()["tools"]["nvdisasm"]
    assert not lacking["available"] and "pip install" in lacking["reason"]


def test_a_tool_is_found_on_the_path_and_in_a_toolkit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    tool = executable(tmp_path / "bin" / "nvdisasm", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert read.disassemblers()[-1] == tool
    monkeypatch.setenv("PATH", "")
    assert tool not in read.disassemblers()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert tool in read.disassemblers()
