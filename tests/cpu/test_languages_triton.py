"""Triton ahead of time: what is taken out of a file, and that the cubin takes the plan's arguments."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from languages_cases import ARGS, SCALE_TRITON, SM_90A, buffers, triton

from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.plan import BufferArg, IntArg, Launch, Plan, TensorMapArg
from kernelwright.languages import Refused, build
from kernelwright.languages.cubin import read_cubin
from kernelwright.languages.triton_options import parse_options
from kernelwright.languages.triton_source import extract

nvidia = pytest.importorskip("triton.backends.nvidia")

SUM = """import triton
import triton.language as tl
from triton.language.extra import libdevice

SCALE = tl.constexpr(2.0)


@triton.jit
def twice(v):
    return libdevice.erf(v) * SCALE


@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr, KEEP: tl.constexpr = True):
    at = tl.arange(0, BLOCK)
    part = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr, tl.sum(twice(part) if KEEP else part, 0))
"""


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))


def total(**fields: object) -> Kernel:
    return triton(SUM, entry="total", args=ARGS[:3], **fields)


def test_the_cubin_takes_the_plans_arguments_and_nothing_else() -> None:
    made = build(triton(), SM_90A)
    assert made.status == "built", made.log
    assert made.artifact is not None
    assert read_cubin(Path(made.artifact))["scale"].sizes == [8, 8, 8, 4]
    found = made.resources["scale"]
    assert (found["threads"], found["dynamic_shared_bytes"], found["spill_bytes"]) == (256, 0, 0)
    assert found["registers"] > 0 and "Triton" in made.tool
    assert build(triton(), SM_90A).cached


def test_shared_memory_that_fits_is_static_so_that_a_launch_need_not_give_it() -> None:
    made = build(total(), SM_90A)
    assert made.status == "built", made.log
    assert made.resources["total"]["shared_bytes"] > 0
    assert made.resources["total"]["dynamic_shared_bytes"] == 0


PRODUCT = """import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, n, by, SIZE: tl.constexpr):
    row = tl.arange(0, SIZE)[:, None] * SIZE
    col = tl.arange(0, SIZE)[None, :]
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for k in range(0, n, SIZE):
        a = (tl.load(x_ptr + k + row + col) * by).to(tl.float16)
        total = tl.dot(a, tl.trans(a), total)
    tl.store(out_ptr + row + col, total)
"""


def test_shared_memory_that_does_not_fit_must_be_in_the_plan() -> None:
    options = ("SIZE=128", "num_warps=8")
    made = build(triton(PRODUCT, options=options), SM_90A)
    assert made.status == "failed"
    needed = int(made.log.rsplit("scale: needs ", 1)[1].split()[0])
    assert needed > 48 << 10
    kernel = triton(PRODUCT, options=options)
    assert kernel.plan is not None
    step = kernel.plan.run[0].model_copy(update={"shared_bytes": needed})
    made = build(kernel.model_copy(update={"plan": kernel.plan.model_copy(update={"run": (step,)})}), SM_90A)
    assert made.status == "built", made.log
    assert made.resources["scale"]["dynamic_shared_bytes"] == needed


def test_two_entries_in_one_cubin() -> None:
    text = SCALE_TRITON + SUM.split("\n", 3)[3].replace("libdevice.erf", "tl.exp")
    steps = tuple(
        Launch(entry=entry, grid=(1, 1, 1), block=(128, 1, 1), args=args)
        for entry, args in (("scale", ARGS), ("total", ARGS[:3]))
    )
    kernel = Kernel(
        name="both",
        problem="0",
        language="triton",
        sources=(Source(path="both.py", text=text),),
        plan=Plan(buffers=buffers(), run=steps),
        options=("BLOCK=256", "total.BLOCK=512"),
    )
    made = build(kernel, SM_90A)
    assert made.status == "built", made.log
    assert made.artifact is not None
    assert {name: facts.sizes for name, facts in read_cubin(Path(made.artifact)).items()} == {
        "scale": [8, 8, 8, 4],
        "total": [8, 8, 8],
    }


def test_aligned_pointers_are_read_in_wide_pieces() -> None:
    disassembler = Path(nvidia.__file__).parent / "bin" / "nvdisasm"
    if not disassembler.exists():
        pytest.skip("this Triton brings no nvdisasm")

    def has_wide_loads(*more: str) -> bool:
        made = build(triton(options=("BLOCK=1024", "num_warps=8", *more)), SM_90A)
        assert made.artifact is not None, made.log
        done = subprocess.run([disassembler, made.artifact], capture_output=True, text=True, check=True)
        return "LDG.E.128" in done.stdout

    assert not has_wide_loads()
    assert has_wide_loads("aligned=x_ptr,out_ptr,n")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"options": ("num_warps=8",)}, "no value for tl.constexpr 'BLOCK'; add the option 'BLOCK=...'"),
        ({"options": ("BLOCK=256", "SIZE=3")}, "option for 'SIZE': no tl.constexpr parameter is called so"),
        ({"options": ("BLOCK=256", "aligned=y")}, "option for 'y': no run-time parameter is called so"),
        ({"options": ("BLOCK=256", "num_warps=many")}, "the value must be a number"),
        ({"options": ("BLOCK=256", "num_warps=0")}, "num_* and maxnreg take 1 to 255"),
        ({"options": ("BLOCK",)}, "is not name=value"),
        ({"args": ARGS[:3]}, "the plan passes 3 arguments"),
        ({"args": (TensorMapArg(buffer="x", box=(8,)), *ARGS[1:])}, "take buffers and numbers"),
        ({"entry": "shrink"}, "the plan launches 'shrink'; @triton.jit functions in the source: scale"),
        ({"block": (128, 1, 1)}, "the plan's block is [128, 1, 1]; Triton compiled it for [256, 1, 1]"),
        ({"args": (BufferArg(buffer="x"), BufferArg(buffer="q"), *ARGS[2:])}, "does not declare"),
    ],
)
def test_what_does_not_fit_is_said_in_one_sentence(changes: dict, said: str) -> None:
    made = build(triton(**changes), SM_90A)
    assert made.status == "failed" and said in made.log


def test_errors_name_the_line_of_the_file() -> None:
    made = build(triton(SCALE_TRITON.replace("tl.arange(0, BLOCK)", "tl.arange(0, 3)")), SM_90A)
    assert made.status == "failed"
    assert "kernel.py:7:" in made.log and "power of 2" in made.log


def test_integers_may_be_narrow() -> None:
    made = build(triton(args=(*ARGS[:2], IntArg(value="n", dtype="int32"), ARGS[3])), SM_90A)
    assert made.status == "built", made.log


HOSTILE = {
    "module level": 'open("{mark}", "w")',
    "decorator": '@(open("{mark}", "w") or triton.jit)\n@triton.jit\ndef other(x):\n    return x',
    "default": '@triton.jit\ndef other(x=open("{mark}", "w")):\n    return x',
    "annotation": '@triton.jit\ndef other(x: open("{mark}", "w")):\n    return x',
    "second decorator": '@triton.jit(version=open("{mark}", "w"))\ndef other(x):\n    return x',
    "import": "import antigravity",
    "constant": 'A = tl.constexpr(open("{mark}", "w"))',
    "class": 'class A:\n    open("{mark}", "w")',
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_would_run_is_not_taken_out(piece: str, tmp_path: Path) -> None:
    text = SCALE_TRITON + "\n" + piece.format(mark=tmp_path) + "\n"
    try:
        kept = extract("k.py", text).text
    except Refused:
        return
    assert str(tmp_path) not in kept and "antigravity" not in kept
    assert "def scale" in kept


def test_nothing_of_the_file_runs(tmp_path: Path) -> None:
    pieces = [HOSTILE[name].format(mark=tmp_path / "mark") for name in ("module level", "constant", "class")]
    made = build(triton("\n".join([SCALE_TRITON, *pieces]) + "\n"), SM_90A)
    assert made.status == "built", made.log
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    "value",
    [
        "tl.core.os.system('id')",
        "tl.core",
        "tl.math.core",
        "tl.extra.cuda",
        "tl._experimental",
        "tl.core.extern_elementwise",
        "tl",
        "triton.runtime",
        "triton.knobs.runtime",
        "triton.compile",
        "getattr(tl, 'core')",
        "globals()",
        "open('x')",
        "__import__('os')",
        "by.__class__",
        "by.handle",
        "(lambda: by)()",
    ],
)
def test_python_cannot_be_reached_from_a_kernel(value: str) -> None:
    made = build(triton(SCALE_TRITON.replace("* by", f"* {value}")), SM_90A)
    assert made.status == "failed"
    refused = ("not allowed", "not a device function", "has no triton.")
    assert any(words in made.log for words in refused), made.log


def test_lines_stay_where_they_were() -> None:
    text = "import os\n\n" + SCALE_TRITON + "\nprint('run')\n"
    found = extract("k.py", text)
    lines, kept = text.split("\n"), found.text.split("\n")
    for number in (3, 4, 7, 8, 9, 10):
        assert kept[number - 1] == lines[number - 1]
    assert "print" not in found.text and "os" not in found.text
    assert found.functions["scale"].runtime == ("x_ptr", "out_ptr", "n", "by")
    assert found.functions["scale"].line == 8


def test_autotune_is_dropped_because_options_say_it() -> None:
    text = SCALE_TRITON.replace("@triton.jit", "@triton.autotune(configs=[], key=['n'])\n@triton.jit")
    assert "autotune" not in extract("k.py", text).text


@pytest.mark.parametrize("text", ["import triton; import os\n", "x = 1; y = 2\n"])
def test_statements_that_share_a_line_are_refused(text: str) -> None:
    with pytest.raises(Refused, match=r"k\.py:1: two statements share a line"):
        extract("k.py", text)


def test_a_file_that_does_not_parse() -> None:
    with pytest.raises(Refused, match=r"k\.py:2:"):
        extract("k.py", "import triton\ndef (:\n")


def test_options_are_split_by_meaning() -> None:
    found = parse_options(
        ("BLOCK=64", 'k.MODE="silu"', "num_stages=4", "enable_fp_fusion=false", "aligned=a,b")
    )
    assert found.compiler == {"enable_fp_fusion": False, "num_stages": 4}
    assert found.values == {"BLOCK": 64, "k.MODE": "silu"}
    assert found.aligned == {"a", "b"}
