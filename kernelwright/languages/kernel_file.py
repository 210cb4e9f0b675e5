"""Read a user's kernel file as a `Kernel` for a problem.

    .cpp    extern "C" functions, called in the order of the file
    .cu     extern "C" __global__ functions, with launch numbers in a `// kernelwright:` comment
    .py     class ModelNew or def kernel (an open kernel), or @triton.jit functions with a
            `# kernelwright:` comment
    .json   a `Kernel`; a folder that `write_kernel` made

Parameters are matched by name (`naming`); what else a kernel has to say stands in comments
(`annotation`). Nothing is compiled or run here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

from kernelwright.core.errors import UsageError, did_you_mean
from kernelwright.core.kernel import Kernel, Source
from kernelwright.core.plan import Arg, Call, Launch, Plan, Step
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.languages.annotation import Annotations, read_annotations, three
from kernelwright.languages.base import Refused
from kernelwright.languages.c_source import CFunction, functions
from kernelwright.languages.naming import Namer, c_width
from kernelwright.languages.publish import load_kernel, read_text, write_kernel
from kernelwright.languages.python import ENTRY, FUNCTION, defines_entry
from kernelwright.languages.triton_options import parse_options
from kernelwright.languages.triton_source import JitFunction, extract

__all__ = ["read_kernel", "write_kernel"]

_QUOTED = re.compile(r'^\s*#\s*include\s*"([A-Za-z0-9_][\w./\-]*)"', re.MULTILINE)


def read_kernel(path: str | Path, problem: Problem, target: Target) -> Kernel:
    """The kernel in a file, or in a published folder, as one for `problem`.

    UsageError, one line, for a file that is missing, of another kind, for another target, or whose
    parameters do not match the problem. A kernel published for another problem is read as one for
    this problem: judging it is the verifier's work.
    """
    path = Path(path)
    if path.is_dir() or path.suffix == ".json":
        return load_kernel(path).model_copy(update={"problem": problem.hash})
    reader = _READERS.get(path.suffix)
    if reader is None:
        raise UsageError(
            f"kernel '{path}': {did_you_mean(path.suffix, [*_READERS, '.json'])}, or a published folder"
        )
    text = read_text(path)
    try:
        kernel = reader(path, text, problem)
    except Refused as refusal:
        raise UsageError(str(refusal)) from refusal
    needed = {"cpp": "cpu", "cuda": "cuda", "triton": "cuda"}.get(kernel.language, target.name)
    if needed != target.name:
        raise UsageError(
            f"kernel '{path}' runs on {needed}, the target is {target.name}; give --target {needed}"
        )
    return kernel


def _cpp(path: Path, text: str, problem: Problem) -> Kernel:
    said = read_annotations(path.name, text)
    if said.plan is None:
        found = [item for item in functions(text) if item.returns == "void"]
        chosen = _chosen(path, found, said, 'extern "C" void')
        namer = Namer(problem, said.scratch)
        steps = tuple(Call(entry=item.name, args=_c_args(path, item, namer)) for item in chosen)
        plan = Plan(buffers=namer.finish(path.name), run=steps)
    else:
        plan = said.plan
    return _kernel(path, text, problem, "cpp", plan, said)


def _cuda(path: Path, text: str, problem: Problem) -> Kernel:
    said = read_annotations(path.name, text)
    if said.plan is None:
        found = [item for item in functions(text) if item.is_global]
        chosen = _chosen(path, found, said, 'extern "C" __global__ void')
        namer = Namer(problem, said.scratch)
        steps = tuple(
            _launch(path, item.name, said, len(chosen) == 1, _c_args(path, item, namer)) for item in chosen
        )
        plan = Plan(buffers=namer.finish(path.name), run=steps)
    else:
        plan = said.plan
    return _kernel(path, text, problem, "cuda", plan, said)


def _python(path: Path, text: str, problem: Problem) -> Kernel:
    said = read_annotations(path.name, text)
    if not said.all and _has_entry(path, text):
        return _kernel(path, text, problem, "python", None, said)
    if not said.all:
        mark = "'# kernelwright: {...}' comment for a Triton kernel"
        raise UsageError(
            f"kernel '{path}': no class '{ENTRY}', no function '{FUNCTION}' and no {mark}; write one"
        )
    return _kernel(path, text, problem, "triton", said.plan or _triton_plan(path, text, problem, said), said)


def _triton_plan(path: Path, text: str, problem: Problem, said: Annotations) -> Plan:
    jitted = extract(path.name, text).functions
    if not jitted:
        raise UsageError(f"kernel '{path}': no @triton.jit function; write one, or a class '{ENTRY}'")
    names = said.entries or list(jitted)
    namer = Namer(problem, said.scratch)
    warps = parse_options(said.options).compiler.get("num_warps", 4)
    steps: list[Step] = []
    for name in names:
        if name not in jitted:
            raise UsageError(f"{path.name}: no @triton.jit function '{name}'; {did_you_mean(name, jitted)}")
        args = tuple(
            _triton_arg(path, jitted[name], parameter, namer, said) for parameter in jitted[name].runtime
        )
        steps.append(_launch(path, name, said, len(names) == 1, args, (32 * warps, 1, 1)))
    return Plan(buffers=namer.finish(path.name), run=tuple(steps))


def _triton_arg(path: Path, function: JitFunction, parameter: str, namer: Namer, said: Annotations) -> Arg:
    where = f"{path.name}:{function.line}: {function.name}"
    short = parameter.removesuffix("_ptr")
    if short != parameter or namer.is_pointer(parameter):
        return namer.pointer(where, parameter if namer.is_pointer(parameter) else short)
    return namer.number(where, parameter, "int32" if parameter in said.int32 else "int64")


def _c_args(path: Path, function: CFunction, namer: Namer) -> tuple[Arg, ...]:
    where = f"{path.name}:{function.line}: {function.name}"
    args: list[Arg] = []
    for parameter in function.parameters:
        if parameter.pointer:
            args.append(namer.pointer(where, parameter.name))
            continue
        width = c_width(parameter.type)
        if width is None:
            raise UsageError(
                f"{where}: parameter '{parameter.name}' has type '{parameter.type}'; "
                "allowed: pointers, int64_t, int32_t, float, double"
            )
        args.append(namer.number(where, parameter.name, width))
    return tuple(args)


def _chosen(path: Path, found: list[CFunction], said: Annotations, form: str) -> list[CFunction]:
    """The functions that run: those that comments name, else all in order."""
    by_name = {item.name: item for item in found}
    if not found:
        raise UsageError(f"kernel '{path}': no function of the form '{form} name(...)'; write one")
    for name in said.entries:
        if name not in by_name:
            raise UsageError(f"{path.name}: no function '{name}'; {did_you_mean(name, by_name)}")
    return [by_name[name] for name in said.entries] or found


def _launch(
    path: Path,
    entry: str,
    said: Annotations,
    alone: bool,
    args: tuple[Arg, ...],
    block: tuple[int, int, int] | None = None,
) -> Launch:
    numbers = said.launch(entry, alone)
    if numbers is None or not numbers.grid or not (numbers.block or block):
        mark = "#" if path.suffix == ".py" else "//"
        example = f'{{"entry": "{entry}", "grid": ["ceildiv(n, 256)", 1, 1], "block": [256, 1, 1]}}'
        raise UsageError(
            f"{path.name}: no launch numbers for '{entry}'; add a line '{mark} kernelwright: {example}'"
        )
    return Launch(
        entry=entry,
        grid=three(numbers.grid),
        block=three(numbers.block) if numbers.block else three(block or ()),
        args=args,
        shared_bytes=numbers.shared_bytes,
        cluster=three(numbers.cluster),
        cooperative=numbers.cooperative,
        programmatic=numbers.programmatic,
    )


def _kernel(
    path: Path, text: str, problem: Problem, language: str, plan: Plan | None, said: Annotations
) -> Kernel:
    sources = [Source(path=_plain(path.name), text=text)]
    for name in _QUOTED.findall(text) if language in ("cpp", "cuda") else []:
        beside = path.parent / name
        if ".." not in Path(name).parts and beside.is_file():
            sources.append(Source(path=name, text=read_text(beside)))
    return Kernel(
        name=path.stem,
        problem=problem.hash,
        language=language,
        sources=tuple({source.path: source for source in sources}.values()),
        plan=plan,
        domain=said.domain,
        options=said.options,
    )


def _plain(name: str) -> str:
    """A file name as a source path may be."""
    plain = re.sub(r"[^A-Za-z0-9_.\-]", "_", name).lstrip(".-")
    return plain if not plain.startswith("kw_") else f"kernel_{plain}"


def _has_entry(path: Path, text: str) -> bool:
    try:
        body = ast.parse(text, path.name).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise UsageError(f"{path.name}:{line or 1}: {getattr(error, 'msg', None) or error}") from error
    return defines_entry(body)


_READERS: dict[str, Callable[[Path, str, Problem], Kernel]] = {
    ".cpp": _cpp, ".cc": _cpp, ".cxx": _cpp, ".cu": _cuda, ".py": _python,
}  # fmt: skip
