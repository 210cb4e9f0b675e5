"""The native launcher, memory of other processes, shared memory, and cache flushes."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.problem import Workload
from kernelwright.execute import arena
from kernelwright.execute.flush import LARGEST_BYTES, SMALLEST_BYTES, Flusher, flush_bytes, last_level_bytes
from kernelwright.execute.memory import copy_memory, read_memory, readable, same_memory, write_memory
from kernelwright.execute.native import compiled, first_error
from kernelwright.execute.sizes import result_bytes

CUDA_H = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include" / "cuda.h"


def test_the_launcher_is_compiled_once_and_never_half(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    monkeypatch.delenv("KERNELWRIGHT_LAUNCHER", raising=False)
    path = compiled()
    changed = path.stat().st_mtime_ns
    assert compiled() == path and path.stat().st_mtime_ns == changed
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_many_processes_compile_at_once(tmp_path: Path) -> None:
    program = "from kernelwright.execute.native import launcher; print(launcher().kw_abi())"
    env = {**os.environ, "KERNELWRIGHT_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    env.pop("KERNELWRIGHT_LAUNCHER", None)
    started = [
        subprocess.Popen([sys.executable, "-c", program], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate(timeout=60)[0].strip() for process in started] == ["1"] * 3
    assert len(list((tmp_path / "launcher").iterdir())) == 1


def test_no_compiler_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("KERNELWRIGHT_LAUNCHER", raising=False)
    with pytest.raises(EnvironmentFault, match=r"no C\+\+ compiler: 'g\+\+'.*install g\+\+"):
        compiled()


def test_a_cache_that_cannot_be_made_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(tmp_path / "file"))
    monkeypatch.delenv("KERNELWRIGHT_LAUNCHER", raising=False)
    with pytest.raises(EnvironmentFault, match="set KERNELWRIGHT_CACHE"):
        compiled()


def test_the_line_of_a_compiler_that_matters() -> None:
    assert (
        first_error("In file x:\na.cpp:3: error: no such thing\nnote: more")
        == "a.cpp:3: error: no such thing"
    )
    assert first_error("") == "no message"


@pytest.mark.skipif(not CUDA_H.exists(), reason="no cuda.h here")
def test_what_is_declared_of_the_driver_is_laid_out_as_in_its_header(tmp_path: Path) -> None:
    source = Path(arena.__file__).with_name("launcher.cpp").read_text()
    names = {
        "attributes": "attrs",
        "attribute_count": "numAttrs",
        "stream": "hStream",
        "shared_bytes": "sharedMemBytes",
    }
    checks = [
        "sizeof(LaunchConfig) == sizeof(CUlaunchConfig)",
        "sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute)",
        "offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value)",
        "kCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE",
        "kClusterDimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION",
        "kProgrammaticSerialization == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION",
        "kMaxDynamicShared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
        "kNonPortableCluster == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
        "kEventDisableTiming == CU_EVENT_DISABLE_TIMING && kStreamNonBlocking == CU_STREAM_NON_BLOCKING",
        *(
            f"offsetof(LaunchConfig, {ours}) == offsetof(CUlaunchConfig, {theirs})"
            for ours, theirs in names.items()
        ),
    ]
    text = "#include <cstddef>\n#include <cuda.h>\n" + source.replace("CUresult", "OurResult")
    text += "\n".join(f'static_assert({check}, "layout");' for check in checks)
    path = tmp_path / "layout.cpp"
    path.write_text(text)
    command = [
        shutil.which("g++") or "g++",
        "-std=c++17",
        "-w",
        "-fsyntax-only",
        f"-I{CUDA_H.parent}",
        str(path),
    ]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_memory_of_a_process_is_read_and_written() -> None:
    assert readable()
    data = ctypes.create_string_buffer(b"0123456789", 10)
    base = ctypes.addressof(data)
    pieces = [(base, 4), (base + 8, 2), (64, 4), (0, 4), (base, 0), (base, 1 << 40)]
    assert read_memory(os.getpid(), pieces) == [b"0123", b"89", None, None, None, None]
    assert read_memory(os.getpid(), [(base, 1)] * 3000) == [b"0"] * 3000
    assert write_memory(os.getpid(), [(base + 2, 3), (64, 4)], 0x2D) == 1
    assert data.raw == b"01---56789"
    assert read_memory(2**22 + 7, [(base, 4)]) == [None], "no such process"


@pytest.mark.parametrize("size", [1, (4 << 20) - 1, 4 << 20, (9 << 20) + 3])
def test_memory_of_another_process_is_copied_and_compared(size: int) -> None:
    this, source, target = os.getpid(), torch.randint(0, 255, (size,), dtype=torch.uint8), torch.zeros(size)
    copy = target.view(torch.uint8)[:size]
    stretch = [(source.data_ptr(), copy.data_ptr(), size)]
    assert copy_memory(this, this, stretch) and torch.equal(source, copy)
    assert same_memory(this, this, stretch)
    copy[-1] += 1
    assert not same_memory(this, this, stretch)
    assert not copy_memory(this, this, [*stretch, (source.data_ptr(), 64, size)]), "nothing is mapped there"
    assert not same_memory(this, 2**22 + 7, stretch), "no such process"


@given(
    shapes=st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=1, max_size=4),
    extra=st.integers(0, 200),
)
@settings(max_examples=30, deadline=None)
def test_tensors_pass_through_shared_memory_unchanged(shapes: list[list[int]], extra: int) -> None:
    types = [torch.float32, torch.int64, torch.bool, torch.bfloat16]
    tensors = [torch.randint(0, 2, shape).to(types[index % len(types)]) for index, shape in enumerate(shapes)]
    shared = arena.Arena()
    try:
        shared.reserve(arena.offsets([tensor.nbytes for tensor in tensors])[1] + extra)
        arena.write(shared.fd, tensors)
        found = arena.read(shared.fd, [(tensor.dtype, tuple(tensor.shape)) for tensor in tensors])
    finally:
        shared.close()
    assert all(torch.equal(a, b) for a, b in zip(found, tensors, strict=True))


def test_shared_memory_cannot_be_shrunk_under_its_reader() -> None:
    shared = arena.Arena()
    shared.reserve(4096)
    with pytest.raises(PermissionError):
        os.ftruncate(shared.fd, 16)
    shared.close()


def test_sizes_of_results_follow_the_workload() -> None:
    from execute_cases import RELU

    assert result_bytes(RELU, RELU.base) == 4032
    assert result_bytes(RELU, Workload(name="s", axes={"n": 16})) == 64


def test_a_flush_reads_more_than_the_last_level_cache() -> None:
    assert flush_bytes(0) == SMALLEST_BYTES and flush_bytes(1 << 40) == LARGEST_BYTES
    assert flush_bytes(50 << 20) == 100 << 20
    assert last_level_bytes("cpu") >= 0
    flusher = Flusher("cpu", cache_bytes=0)
    before = flusher._buffer.clone()
    flusher.flush()
    assert torch.equal(flusher._buffer, before)
