"""C++ kernels with the real compiler: what builds, what does not, and whose fault it is."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest
from languages_cases import ARGS, CPU, SCALE, call, cpp, executable

from kernelwright.core.errors import EnvironmentFault, UsageError
from kernelwright.core.kernel import Source
from kernelwright.core.plan import BufferArg, FloatArg, IntArg, TensorMapArg
from kernelwright.core.target import Target
from kernelwright.languages import LANGUAGES, build
from kernelwright.languages.cpp_shim import support, unit
from kernelwright.languages.signature import signatures

GOLDEN = Path(__file__).parents[1] / "golden" / "languages_unit.cpp"
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
pytestmark = needs_compiler


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)


def test_a_built_kernel_reads_its_arguments_through_the_shim() -> None:
    made = build(cpp(), CPU)
    assert (made.status, made.cached, made.log) == ("built", False, "")
    assert made.tool and made.seconds > 0
    x = np.arange(5, dtype=np.float32)
    out = np.zeros(5, np.float32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, out)]
    call(made, "scale", [*pointers, ctypes.c_int64(5), ctypes.c_float(2.0)])
    assert out.tolist() == [0, 2, 4, 6, 8]


def test_all_that_the_compiler_says_comes_back_by_the_kernels_own_line() -> None:
    broken = SCALE.replace("x[i] * by", "x[i] * ;").replace("std::int64_t n", "std::int65_t n")
    made = build(cpp(broken), CPU)
    assert made.status == "failed" and made.artifact is None
    assert "kernel.cpp:3:" in made.log and "int65_t" in made.log
    assert "kernel.cpp:4:" in made.log and "expected primary-expression" in made.log
    assert "kw_unit" not in made.log


@pytest.mark.parametrize(
    ("old", "new", "blamed"),
    [
        (
            "float *out",
            "double *out",
            "parameter 2 takes buffer 'out' of dtype float32: declare it 'float *'",
        ),
        ("float *out", "float out", "parameter 2 takes buffer 'out'"),
        ("float *out", "void *out", "parameter 2 takes buffer 'out'"),
        ("std::int64_t n", "int n", "parameter 3 takes integer 'n' of dtype int64"),
        ("std::int64_t n", "std::uint64_t n", "parameter 3 takes integer 'n' of dtype int64"),
        ("float by", "double by", "parameter 4 takes number 2.0 of dtype float32: declare it 'float'"),
        (", float by", "", "the plan passes 4 arguments (buffer 'x', buffer 'out', integer 'n', number 2.0)"),
        ("float by", "float by, float more", "the plan passes 4 arguments"),
        ("void scale", "int scale", "the function must return void"),
    ],
)
def test_a_signature_that_does_not_fit_the_plan_names_the_argument(old: str, new: str, blamed: str) -> None:
    made = build(cpp(SCALE.replace(old, new, 1)), CPU)
    assert made.status == "failed"
    assert f"scale: {blamed}" in made.log
    assert "kernel.cpp:3:" in made.log


@pytest.mark.parametrize(
    ("dtype", "declared"),
    [
        ("float64", "double"),
        ("float16", "_Float16"),
        ("float16", "std::uint16_t"),
        ("bfloat16", "std::uint16_t"),
        ("int64", "long"),
        ("int64", "long long"),
        ("int32", "int"),
        ("int16", "short"),
        ("int8", "std::int8_t"),
        ("uint8", "unsigned char"),
        ("bool", "bool"),
        ("bool", "unsigned char"),
    ],
)
def test_element_types_by_their_usual_names(dtype: str, declared: str) -> None:
    head = f'#include <cstdint>\nextern "C" void scale(const {declared} *x, {declared} *out)'
    text = head + " { out[0] = x[0]; }\n"
    made = build(cpp(text, dtype=dtype, args=(BufferArg(buffer="x"), BufferArg(buffer="out"))), CPU)
    assert made.status == "built", made.log


def test_names_and_macros_of_the_kernel_do_not_disturb_the_shim() -> None:
    macros = "".join(
        f"#define {name} 3\n" for name in ("T", "I", "N", "P", "R", "F", "D", "L", "read", "count", "buffer")
    )
    made = build(cpp(macros + SCALE), CPU)
    assert made.status == "built", made.log


@pytest.mark.parametrize("kind", ["missing", "static", "overloaded", "namespace"])
def test_an_entry_that_cannot_be_called_does_not_build(kind: str) -> None:
    text = {
        "missing": SCALE.replace("scale", "other"),
        "static": SCALE.replace('extern "C"', "static").replace("scale", "other"),
        "overloaded": SCALE + "void scale(int) {}\n",
        "namespace": "namespace a { "
        + SCALE.replace("#include <cstdint>", "").replace('extern "C" ', "")
        + "}",
    }[kind]
    made = build(cpp(text), CPU)
    assert made.status == "failed" and "scale" in made.log


def test_two_entries_and_two_calls_of_one() -> None:
    text = SCALE + SCALE.replace("#include <cstdint>", "").replace("scale", "again")
    kernel = cpp(text)
    plan = kernel.plan
    assert plan is not None
    first = plan.run[0]
    steps = (first, first, first.model_copy(update={"entry": "again"}))
    made = build(kernel.model_copy(update={"plan": plan.model_copy(update={"run": steps})}), CPU)
    assert made.status == "built", made.log


def test_a_plan_that_contradicts_itself_is_refused() -> None:
    kernel = cpp()
    plan = kernel.plan
    assert plan is not None
    other = plan.run[0].model_copy(update={"args": (BufferArg(buffer="x"),)})
    kernel = kernel.model_copy(update={"plan": plan.model_copy(update={"run": (plan.run[0], other)})})
    assert "different kinds of arguments to 'scale'" in build(kernel, CPU).log


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((BufferArg(buffer="y"), *ARGS[1:]), "buffer 'y' that it does not declare; declared: x, out"),
        ((TensorMapArg(buffer="x", box=(8,)), *ARGS[1:]), "exists only on CUDA"),
    ],
)
def test_arguments_that_cannot_be_passed(args: tuple, said: str) -> None:
    made = build(cpp(args=args), CPU)
    assert made.status == "failed" and said in made.log


def test_a_kernel_without_a_plan_is_refused() -> None:
    kernel = cpp().model_copy(update={"plan": None})
    assert "has no plan" in build(kernel, CPU).log


def test_headers_of_the_kernels_own_may_be_included() -> None:
    header = Source(path="parts/by.h", text="inline float twice(float v) { return 2 * v; }\n")
    text = '#include "parts/by.h"\n' + SCALE.replace("x[i] * by", "twice(x[i])")
    made = build(cpp(sources=(Source(path="kernel.cpp", text=text), header)), CPU)
    assert made.status == "built", made.log
    broken = Source(path="parts/by.h", text="\n\nnonsense\n")
    made = build(cpp(sources=(Source(path="kernel.cpp", text=text), broken)), CPU)
    assert "parts/by.h:3:" in made.log


@pytest.mark.parametrize("option", ["-O2", "-mprefer-vector-width=512", "-funroll-loops"])
def test_allowed_options(option: str) -> None:
    assert build(cpp(options=(option,)), CPU).status == "built"


@pytest.mark.parametrize(
    "option",
    ["-ffast-math", "-I/etc", "-include", "@file", "-O2 -I/", "-Wl,-rpath,/", "-fplugin=x.so", "-B."],
)
def test_other_options_are_refused_without_a_compiler_run(option: str) -> None:
    made = build(cpp(options=(option,)), CPU)
    assert made.status == "failed" and option in made.log and "allowed:" in made.log


@pytest.mark.parametrize(
    "tail",
    [
        'asm(".incbin \\"/etc/hostname\\"");',
        '#define P(a, b) a##b\nP(as, m)(".inc" "bin \\"/etc/hostname\\"");',
        'asm("\\x2eincbin \\"/etc/hostname\\"");',
        '__attribute__((section(".d,\\"a\\"\\n.incbin \\"/etc/hostname\\"\\n#"))) int hidden = 1;',
        'asm(".macro m a\\n.\\\\a \\"/etc/hostname\\"\\n.endm\\nm incbin");',
        'asm(".include \\"/etc/hostname\\"");',
    ],
)
def test_assembly_that_reads_files_does_not_build(tail: str) -> None:
    made = build(cpp(SCALE + tail + "\n"), CPU)
    assert made.status == "failed" and "which is not allowed" in made.log


def test_ordinary_assembly_and_text_with_dots_build() -> None:
    text = SCALE + 'asm("nop");\nextern "C" const char *words() { return "see .incbin and .include"; }\n'
    made = build(cpp(text), CPU)
    assert made.status == "built", made.log


def test_search_paths_of_the_environment_open_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "omp.h").write_text("#error poisoned\n")
    for name in ("CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"):
        monkeypatch.setenv(name, str(tmp_path))
    made = build(cpp("#include <omp.h>\n" + SCALE), CPU)
    assert made.status == "built", made.log


def test_no_compiler_is_the_machines_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentFault) as caught:
        build(cpp(), CPU)
    assert str(caught.value) == "no C++ compiler: 'g++' is not on PATH; install g++ 11 or newer, or set CXX"
    assert LANGUAGES.get("cpp")().unavailable(CPU) == str(caught.value)


@pytest.mark.parametrize(
    "body", ["exit 1", 'case "$*" in *version*) echo g++ 0; exit 0;; esac; echo cc1plus: gone; exit 1']
)
def test_a_broken_compiler_is_the_machines_fault(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", str(executable(tmp_path / "cxx", f"#!/bin/sh\n{body}\n")))
    with pytest.raises(EnvironmentFault) as caught:
        build(cpp(), CPU)
    assert "\n" not in str(caught.value) and "CXX" in str(caught.value)


def test_a_compiler_given_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(tmp_path / "cxx", '#!/bin/sh\nexec g++ "$@"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CXX", "./cxx -g0")
    assert build(cpp(), CPU).status == "built"


def test_the_wrong_target_is_the_users_mistake() -> None:
    with pytest.raises(UsageError, match="language 'cpp' builds for cpu, not for cuda"):
        build(cpp(), Target.parse("cuda"))


def test_the_unit_is_what_it_was() -> None:
    kernel = cpp(args=(*ARGS[:2], IntArg(value="n * 2", dtype="int32"), FloatArg(value=0.5, dtype="float64")))
    text = unit("kernel.cpp", SCALE, signatures(kernel.plan, "call"))
    assert text == GOLDEN.read_text()
    assert '#include "kw_shim.h"' in text and "namespace kw_shim" in support()
