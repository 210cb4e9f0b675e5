"""KernelBench's own evaluation of one of our kernels, as a `load_inline` candidate.

    child = Peer(root, source, candidate_source(problem, kernel, original))
    ...                                   # the extension is built meanwhile
    child.finish()                        # {"build_s": ..., "seconds": [...], "result": ...}

The clone is the user's; nothing of it is copied. Its package imports clients of language models at
start, which evaluation does not use: where they are not installed, empty modules stand in for them.
Run as a module, this file is the child process: it builds, waits for a line, evaluates, prints JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

from kernelwright.core.kernel import Kernel
from kernelwright.core.problem import Problem
from kernelwright.execute.bind import bind
from kernelwright.execute.bound import Address, BoundLaunch, BoundMemset, BoundPlan

UNUSED = ("dotenv", "openai", "litellm")
"""What KernelBench's package imports and its evaluation does not use."""
CORRECT_TRIALS, PERF_TRIALS = 5, 100
"""As for its published results."""
REPEATS = 3


class Peer:
    """The child process."""

    def __init__(self, root: Path, original: str, candidate: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        (folder / "original.py").write_text(original)
        (folder / "candidate.py").write_text(candidate)
        command = [sys.executable, "-m", "benchmarks.peer", str(root), str(folder)]
        env = {**os.environ, "TORCH_EXTENSIONS_DIR": str(folder), "TORCH_CUDA_ARCH_LIST": "9.0a"}
        self._log = (folder / "log").open("w")
        self._process = subprocess.Popen(
            command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )

    def finish(self, timeout_s: float = 300.0) -> dict[str, Any]:
        """Let it evaluate once it has built; what it measured, or `error` with the end of its output."""
        try:
            printed, _ = self._process.communicate("go\n", timeout_s)
            lines = [line for line in printed.splitlines() if line.startswith("{")]
            found: dict[str, Any] = json.loads(lines[-1]) if lines else {}
        except subprocess.TimeoutExpired:
            self._process.kill()
            found = {}
        self._log.close()
        said = (Path(self._folder.name) / "log").read_text()[-600:]
        self._folder.cleanup()
        return found or {"error": said}


def candidate_source(problem: Problem, kernel: Kernel, original: str) -> str | None:
    """A file with `ModelNew` that launches the kernel as its plan does; None where this cannot say how."""
    if kernel.plan is None or problem.mutated or len(problem.outputs) != 1:
        return None
    plan = bind(kernel.plan, problem.axis_sizes)
    plain = all(
        isinstance(step, BoundMemset)
        or (isinstance(step, BoundLaunch) and step.cluster == (1, 1, 1) and not step.cooperative)
        for step in plan.run
    )
    if plan.prepare or not plain:
        return None
    given = [*plan.with_role("input"), *plan.with_role("weight")]
    weights = [f"held[{buffer.name!r}]" for buffer in plan.with_role("weight")]
    return _PYTHON.format(
        original=original,
        cuda=repr(f"{_INCLUDES}{kernel.sources[0].text}\n{_host(plan)}"),
        cpp=repr(f"torch::Tensor run({', '.join('torch::Tensor' for _ in given)});"),
        weights=", ".join(weights),
        inputs=len(problem.inputs),
    )


_INCLUDES = "#include <torch/extension.h>\n#include <c10/cuda/CUDAStream.h>\n"
_PYTHON = """{original}

from torch.utils.cpp_extension import load_inline

_built = load_inline("kernelwright_peer", cpp_sources={cpp}, cuda_sources={cuda}, functions=["run"])


class ModelNew(Model):
    def forward(self, *inputs):
        held = {{**dict(self.named_parameters()), **dict(self.named_buffers())}}
        return _built.run(*[each.contiguous() for each in inputs[:{inputs}]], *[{weights}])
"""


def _host(plan: BoundPlan) -> str:
    given = [*plan.with_role("input"), *plan.with_role("weight")]
    names = {buffer.name: f"b{number}" for number, buffer in enumerate(plan.buffers.values())}
    lines = [f"torch::Tensor run({', '.join(f'torch::Tensor {names[one.name]}' for one in given)}) {{"]
    for buffer in plan.with_role("output", "scratch"):
        shape = ", ".join(map(str, buffer.shape))
        options = f"torch::dtype(torch::k{_KINDS[buffer.dtype]}).device(torch::kCUDA)"
        lines.append(f"  auto {names[buffer.name]} = torch::empty({{{shape}}}, {options});")
    lines.append("  auto stream = c10::cuda::getCurrentCUDAStream().stream();")
    for step in plan.run:
        lines += _memset(step, names) if isinstance(step, BoundMemset) else _launch(step, names)
    (out,) = plan.with_role("output")
    return "\n".join([*lines, f"  return {names[out.name]};", "}"])


_KINDS = {"float32": "Float", "float64": "Double", "int32": "Int", "int64": "Long", "uint8": "Byte",
          "float16": "Half", "bfloat16": "BFloat16", "bool": "Bool"}  # fmt: skip


def _memset(step: BoundMemset, names: dict[str, str]) -> list[str]:
    return [f"  cudaMemsetAsync({names[step.buffer]}.data_ptr(), {step.byte}, {step.nbytes}, stream);"]


def _launch(step: Any, names: dict[str, str]) -> list[str]:
    values = []
    for arg in step.args:
        if isinstance(arg, Address):
            values.append(f"(unsigned long long)((char*){names[arg.buffer]}.data_ptr() + {arg.offset})")
        else:
            values.append(f"{arg.bits & (2**64 - 1)}ull")
    grid, block = (", ".join(map(str, size)) for size in (step.grid, step.block))
    return [
        "  {",
        f"    unsigned long long values[] = {{{', '.join(values)}}};",
        f"    void* args[] = {{{', '.join(f'&values[{i}]' for i in range(len(values)))}}};",
        f"    auto entry = (const void*){step.entry};",
        f"    cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, {step.shared_bytes});",
        f"    cudaLaunchKernel(entry, dim3({grid}), dim3({block}), args, {step.shared_bytes}, stream);",
        "  }",
    ]


def main(root: str, folder: str) -> None:
    """In the child: build, wait, evaluate."""
    original, candidate = ((Path(folder) / name).read_text() for name in ("original.py", "candidate.py"))
    for name in UNUSED:
        _stand_in(name)
    sys.path.insert(0, str(Path(root) / "src"))
    evaluation = importlib.import_module("kernelbench.eval")
    begun = time.perf_counter()
    exec(compile(candidate, "<candidate>", "exec"), {})
    found: dict[str, Any] = {"build_s": time.perf_counter() - begun, "seconds": []}
    sys.stdin.readline()
    for _ in range(REPEATS):
        begun = time.perf_counter()
        result = evaluation.eval_kernel_against_ref(
            original,
            candidate,
            num_correct_trials=CORRECT_TRIALS,
            num_perf_trials=PERF_TRIALS,
            measure_performance=True,
        )
        found["seconds"].append(round(time.perf_counter() - begun, 3))
    found |= {"correct": bool(result.correctness), "runtime_ms": result.runtime}
    print(json.dumps(found, default=str), flush=True)


def _stand_in(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        module = types.ModuleType(name)
        module.__dict__.update(dict.fromkeys(("load_dotenv", "OpenAI", "completion"), _nothing))
        sys.modules[name] = module


def _nothing(*_: Any, **__: Any) -> None:
    """Stands in for a function of a module that is not there."""


if __name__ == "__main__":
    main(*sys.argv[1:])
