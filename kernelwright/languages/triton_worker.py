"""Compile jitted Triton functions to one cubin. Run as a script in a process of its own.

Triton's compiler runs Python while it compiles, and LLVM may crash or use much memory. Reads
`kw_request.json` in the working directory, writes `kernel.cubin` and `kw_reply.json`. Imports
nothing of this package.

Triton adds two pointers for scratch memory behind a kernel's own parameters and takes its shared
memory at launch. Where the kernel does not use them, the pointers are cut from the PTX, and shared
memory that fits a static declaration becomes one, so that the cubin takes what the source says.
"""

import importlib
import importlib.util
import inspect
import json
import re
import sys
import traceback
from pathlib import Path
from typing import Any

STATIC_SHARED = 48 << 10
_PARAMETERS = re.compile(r"(\.visible \.entry (\w+)\()(.*?)(\n?\))", re.DOTALL)
_SHARED = re.compile(r"\.extern \.shared \.align \d+ \.b8 global_smem\[\];")
_HEADER = re.compile(r"^\.(version|target|address_size)[^\n]*\n", re.MULTILINE)

ORDINARY = (RuntimeError, ValueError, TypeError, AssertionError, LookupError, AttributeError, ArithmeticError)
"""What Triton's compiler raises besides its own errors when a kernel makes no sense to it."""


class Rejected(Exception):
    """The kernel asks for what a sealed kernel may not have."""


def main() -> None:
    """Answer the request in the working directory."""
    request = json.loads(Path("kw_request.json").read_text(encoding="utf-8"))
    try:
        import triton
        from triton.backends.nvidia.compiler import CUDABackend
    except ImportError as error:
        reply: dict[str, Any] = {"status": "lacking", "log": f"Triton cannot be imported: {error}"}
    else:
        reply = answer(triton, CUDABackend, request)
    Path("kw_reply.json").write_text(json.dumps(reply), encoding="utf-8")


def answer(triton: Any, backend: Any, request: dict[str, Any]) -> dict[str, Any]:
    """`built` with facts by entry, or `failed` with Triton's own words."""
    try:
        for chain in request["chains"]:
            check_chain(triton, chain)
        module = load(request["module"])
        cubin, facts = compile_all(triton, backend, module, request)
    except Rejected as rejection:
        return {"status": "failed", "log": str(rejection)}
    except (triton.TritonError, *ORDINARY) as error:
        return {"status": "failed", "log": explain(error, request["path"], request["lines"])}
    Path("kernel.cubin").write_bytes(cubin)
    return {"status": "built", "log": "", "facts": facts}


def check_chain(triton: Any, chain: str) -> None:
    """Let pass device functions, types and constants of `triton.language`, and nothing else."""
    parts = chain.split(".")
    if "extern" in parts[-1] or any(part.startswith("_") for part in parts):
        raise Rejected(f"{chain} is not allowed in a sealed kernel")
    found: Any = triton
    if chain.startswith("triton.language.extra."):
        importlib.import_module(".".join(parts[:-1]))
    for position, part in enumerate(parts[1:], 1):
        if not hasattr(found, part):
            raise Rejected(f"Triton {triton.__version__} has no {chain}")
        found = getattr(found, part)
        inner = position < len(parts) - 1
        if inner and not (inspect.ismodule(found) and found.__name__.startswith("triton.language")):
            raise Rejected(f"{chain} is not allowed in a sealed kernel; use functions of triton.language")
    home = getattr(found, "__module__", None) or type(found).__module__
    if inspect.ismodule(found) or not home.startswith(("triton.language", "triton.runtime.jit")):
        allowed = {"triton.cdiv", "triton.next_power_of_2"}
        if chain not in allowed:
            raise Rejected(f"{chain} is not a device function or type of triton.language")


def load(path: str) -> Any:
    """The extracted file as a module: jitted functions and literals only."""
    spec = importlib.util.spec_from_file_location("kw_sealed_kernel", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def compile_all(
    triton: Any, backend: Any, module: Any, request: dict[str, Any]
) -> tuple[bytes, dict[str, Any]]:
    """One cubin with all entries, and each entry's threads and dynamic shared bytes."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    bodies: list[str] = []
    facts: dict[str, Any] = {}
    emit = backend.make_ptx

    def make_ptx(self: Any, source: Any, metadata: dict[str, Any], *rest: Any) -> str:
        text, dynamic = seal(emit(self, source, metadata, *rest), metadata, current["runtime"])
        facts[metadata["name"]] = {"threads": metadata["num_warps"] * 32, "dynamic_shared_bytes": dynamic}
        bodies.append(text)
        return joined(bodies)

    backend.make_ptx = make_ptx
    compiled: Any = None
    for current in request["entries"]:
        attributes = {(index,): [["tt.divisibility", 16]] for index in current["aligned"]}
        function = getattr(module, current["name"])
        source = ASTSource(function, current["signature"], constexprs=current["constants"], attrs=attributes)
        target = GPUTarget("cuda", request["capability"], 32)
        compiled = triton.compile(source, target=target, options=request["options"])
    return compiled.asm["cubin"], facts


def seal(ptx: str, metadata: dict[str, Any], runtime: int) -> tuple[str, int]:
    """The PTX with the source's own parameters only, and the shared bytes that a launch must give."""
    if metadata.get("global_scratch_size") or metadata.get("profile_scratch_size"):
        raise Rejected("the kernel needs scratch memory from Triton's launcher (device-side tensor maps do)")
    head = _PARAMETERS.search(ptx)
    if head is None:
        raise Rejected("Triton's PTX has no entry that can be read")
    name, body = head.group(2), ptx[head.end() :]
    parameters = head.group(3).strip().split(",\n")
    for index in range(runtime, len(parameters)):
        if f"{name}_param_{index}" in body:
            raise Rejected(
                f"{name}: parameter {index} is Triton's own and is used; such kernels are not supported"
            )
    own = ",\n".join(parameters[:runtime])
    text = ptx[: head.start()] + head.group(1) + "\n\t" + own + "\n)" + body
    return share(text, name, metadata["shared"])


def share(ptx: str, name: str, size: int) -> tuple[str, int]:
    """Shared memory declared statically where it fits; else the bytes to give at launch."""
    if size > STATIC_SHARED:
        return ptx, size
    declared = f".shared .align 1024 .b8 global_smem_{name}[{size}];" if size else ""
    without = _SHARED.sub(declared, ptx)
    return re.sub(r"\bglobal_smem\b", f"global_smem_{name}", without), 0


def joined(bodies: list[str]) -> str:
    """Several PTX texts as one: the first keeps its header."""
    return "\n".join([bodies[0], *(_HEADER.sub("", body) for body in bodies[1:])])


def explain(error: BaseException, path: str, lines: dict[str, int]) -> str:
    """Triton's messages from the outermost inwards, with positions in the kernel's own file."""
    causes: list[str] = []
    current: BaseException | None = error
    while current is not None:
        causes.append("".join(traceback.format_exception_only(type(current), current)).strip())
        current = current.__cause__

    def placed(match: re.Match[str]) -> str:
        line, column, name = int(match.group(1)), match.group(2), match.group(3)
        if name not in lines:
            return match.group()
        return f"{path}:{lines[name] + line - 1}:{column}:\ndef {name}("

    return re.sub(r"at (\d+):(\d+):\ndef (\w+)\(", placed, "\n".join(causes))


if __name__ == "__main__":
    main()
