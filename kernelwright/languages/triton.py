"""Triton kernels, compiled ahead of time to a cubin. Works with Triton 3.6 and 3.9.

A kernel's source is a Python file; its `@triton.jit` functions are taken out by syntax
(`triton_source`) and compiled in a process of their own. The plan's arguments are the function's
parameters in order, without those annotated `tl.constexpr`. `Kernel.options` carries the rest:

    BLOCK=1024            value of a tl.constexpr parameter, of every entry that has it
    softmax.BLOCK=256     the same for one entry
    num_warps=8 num_stages=3 maxnreg=128 enable_fp_fusion=false
    aligned=x_ptr,n       parameters that are multiples of 16 in every launch (bytes, for pointers)

Without `aligned` Triton may not use wide loads. A wrong promise is a misaligned access at run
time; one about sizes belongs in the kernel's domain. `tl.dot` on float32 is TF32 unless the source
says `input_precision="ieee"`, as Triton has it. Tensor maps and clusters are not served.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from kernelwright.core.dtypes import Dtype
from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.kernel import Kernel
from kernelwright.core.plan import Launch
from kernelwright.core.target import Target, TargetName
from kernelwright.languages import guard
from kernelwright.languages.base import Compiled, Language, Refused
from kernelwright.languages.bounded import python_script, run_bounded
from kernelwright.languages.cubin import read_cubin
from kernelwright.languages.cuda import mismatch, resources
from kernelwright.languages.signature import Parameter, Signature, calls, describe, signatures
from kernelwright.languages.triton_options import TritonOptions, parse_options
from kernelwright.languages.triton_source import Extracted, JitFunction, extract

MEMORY_BYTES = 12 << 30
"""Address space of the compiling process: LLVM reserves far more than it uses."""

_TYPES: dict[Dtype, str] = {
    "float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int64": "i64",
    "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "i1",
}  # fmt: skip


class TritonLanguage(Language):
    """Triton for an NVIDIA GPU."""

    name: ClassVar[str] = "triton"
    targets: ClassVar[frozenset[TargetName]] = frozenset({"cuda"})

    def missing(self, target: Target) -> str | None:
        """A sentence where Triton is not installed."""
        return None if find_spec("triton") else "Triton is not installed; pip install 'kernelwright[triton]'"

    def tool(self, target: Target) -> str:
        """Triton's version; its wheel brings its own ptxas."""
        return f"Triton {_version()}"

    def content(self, kernel: Kernel, target: Target) -> dict[str, Any]:
        """Source, options, and what the plan passes and launches with."""
        guard.check_paths(kernel)
        entries = signatures(kernel.plan, "launch")
        steps = list(calls(kernel.plan)) if kernel.plan else []
        launches = [[step.entry, step.block, step.shared_bytes] for step in steps if isinstance(step, Launch)]
        types = {name: [_type(parameter) for parameter in found] for name, found in entries.items()}
        return {**super().content(kernel, target), "entries": types, "launches": launches}

    def compile(self, kernel: Kernel, target: Target, folder: Path) -> Compiled:
        """One cubin with every entry of the plan."""
        entries = signatures(kernel.plan, "launch")
        if len(kernel.sources) != 1 or not entries:
            raise Refused(
                "a Triton kernel is one source and a plan that launches at least one of its functions"
            )
        source = kernel.sources[0]
        extracted = extract(source.path, source.text)
        request = _request(extracted, entries, parse_options(kernel.options), target)
        (folder / "kw_module").mkdir()
        module = folder / "kw_module" / Path(source.path).name
        module.write_text(extracted.text, encoding="utf-8")
        reply, output, lasting = _run(folder, {**request, "module": str(module), "path": source.path})
        log = f"{reply['log']}\n{output}".strip()
        if reply["status"] != "built":
            return Compiled(None, log, lasting=lasting)
        return _checked(kernel, entries, reply["facts"], log, folder / "kernel.cubin")


def _request(
    extracted: Extracted, entries: dict[str, Signature], options: TritonOptions, target: Target
) -> dict[str, Any]:
    functions = [_function(extracted, name) for name in entries]
    options.check_used(functions)
    return {
        "lines": {name: function.line for name, function in extracted.functions.items()},
        "chains": extracted.chains,
        "capability": _capability(target),
        "options": options.compiler,
        "entries": [_entry(function, entries[function.name], options) for function in functions],
    }


def _function(extracted: Extracted, name: str) -> JitFunction:
    function = extracted.functions.get(name)
    if function is None:
        have = ", ".join(extracted.functions) or "none"
        raise Refused(f"the plan launches '{name}'; @triton.jit functions in the source: {have}")
    return function


def _entry(function: JitFunction, signature: Signature, options: TritonOptions) -> dict[str, Any]:
    runtime = function.runtime
    if len(runtime) != len(signature):
        passed = f"{len(signature)} arguments ({describe(signature)})"
        raise Refused(f"{function.name}: the plan passes {passed}; the parameters are {', '.join(runtime)}")
    constants = options.constants(function)
    types = dict(zip(runtime, map(_type, signature), strict=True))
    return {
        "name": function.name,
        "runtime": len(runtime),
        "signature": {name: types.get(name, "constexpr") for name in function.parameters},
        "constants": constants,
        "aligned": [i for i, name in enumerate(function.parameters) if name in options.aligned],
    }


def _type(parameter: Parameter) -> str:
    if parameter.dtype is None:
        raise Refused(f"the plan passes a {parameter.label}; Triton kernels here take buffers and numbers")
    return ("*" if parameter.kind == "buffer" else "") + _TYPES[parameter.dtype]


def _run(folder: Path, request: dict[str, Any]) -> tuple[dict[str, Any], str, bool]:
    """The worker's reply, what the tools printed, and whether it will be the same next time."""
    (folder / "kw_request.json").write_text(json.dumps(request), encoding="utf-8")
    settings = {
        "TRITON_CACHE_DIR": str(folder / "kw_triton"),
        "TRITON_HOME": str(folder / "kw_triton"),
        "TRITON_DISABLE_LINE_INFO": "1",
        "NVPTX_ENABLE_DUMP": "0",
        "TRITON_DUMP_PTXAS_LOG": "1",
    }
    worker = python_script(Path(__file__).with_name("triton_worker.py"))
    ended = run_bounded(worker, folder, memory_bytes=MEMORY_BYTES, settings=settings)
    try:
        reply = json.loads((folder / "kw_reply.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return (
            {"status": "failed", "log": f"Triton's compiler ended with code {ended.code}"},
            ended.output,
            False,
        )
    if reply["status"] == "lacking":
        raise EnvironmentFault(f"{reply['log']}; pip install 'kernelwright[triton]' again")
    return reply, ended.output, True


def _checked(
    kernel: Kernel, entries: dict[str, Signature], facts: dict[str, dict[str, int]], log: str, cubin: Path
) -> Compiled:
    """The build, unless the plan's launches do not fit what Triton made."""
    found = read_cubin(cubin)
    steps = list(calls(kernel.plan)) if kernel.plan else []
    wrong = mismatch(entries, found) or next(
        (text for step in steps if isinstance(step, Launch) and (text := _unfit(step, facts[step.entry]))),
        None,
    )
    if wrong:
        return Compiled(None, f"{log}\n{wrong}".strip())
    known = resources(found, log)
    return Compiled(cubin, log, {name: {**known[name], **facts[name]} for name in entries})


def _unfit(step: Launch, facts: dict[str, int]) -> str | None:
    threads, shared = facts["threads"], facts["dynamic_shared_bytes"]
    if all(isinstance(size, int) for size in step.block) and tuple(step.block) != (threads, 1, 1):
        return (
            f"{step.entry}: the plan's block is {list(step.block)}; Triton compiled it for [{threads}, 1, 1]"
        )
    if isinstance(step.shared_bytes, int) and step.shared_bytes < shared:
        return f"{step.entry}: needs {shared} bytes of shared memory; give that as shared_bytes in the plan"
    return None


def _capability(target: Target) -> int:
    found = re.fullmatch(r"sm_(\d+)[af]?", target.arch)
    if found is None:
        raise Refused(f"architecture '{target.arch}' is not one that Triton is compiled for here; use sm_90a")
    return int(found.group(1))


@lru_cache
def _version() -> str:
    for distribution in ("triton", "pytorch-triton"):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    raise EnvironmentFault("Triton is importable but its version is unknown; pip install triton")
