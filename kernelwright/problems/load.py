"""`load_problem`: any source becomes a `Problem`, described as far as shapes and a small run tell.

    "path/to/problem.py"                         a KernelBench-form file
    "mypkg.model:Block", "mypkg.model:inputs"    something importable, and what makes its inputs
    module, (x, y)                               a live nn.Module or function with example inputs

The reference is traced on shapes alone; values are computed only at the smallest derived workload,
to find weak tasks. So a problem for a large GPU loads on a laptop.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernelwright.core.errors import ProblemError
from kernelwright.core.problem import Mode, Problem
from kernelwright.problems.axes import find_axes, find_workloads
from kernelwright.problems.describe import described
from kernelwright.problems.kernelbench import KernelBenchOrigin
from kernelwright.problems.module import ObjectOrigin, PathOrigin
from kernelwright.problems.origin import Origin
from kernelwright.problems.outline import Outline, outline
from kernelwright.problems.trace import check_arguments


def load_problem(
    source: str | os.PathLike[str] | Callable[..., Any], inputs: Any = None, *, mode: Mode | None = None
) -> Problem:
    """Read, trace and describe a problem. ProblemError, one line, for whatever does not fit.

    `inputs` is needed unless `source` is a problem file: `module:function` for an importable
    source, example arguments (or a function that makes them) for a live object. `mode` is the
    source's own by default.
    """
    return problem_of(open_origin(source, inputs, mode))


def problem_of(origin: Origin) -> Problem:
    """Trace and describe what an origin holds. ProblemError, one line, for whatever does not fit."""
    base, device = _outlined(origin)
    check_arguments(origin.name, base)
    draft = _identified(origin, base, device)
    workloads = find_workloads(origin, base, draft.axes)
    return described(draft.model_copy(update={"workloads": workloads}), origin, base)


def problem_hash(source: str | os.PathLike[str] | Callable[..., Any], inputs: Any = None) -> str:
    """A problem's identity, without describing it."""
    origin = open_origin(source, inputs, None)
    return _identified(origin, *_outlined(origin)).hash


def _identified(origin: Origin, base: Outline, device: str) -> Problem:
    """The problem with the fields that its hash covers."""
    axes = find_axes(origin, base) if device == "meta" else ()
    root = {"root": origin.root} if isinstance(origin, PathOrigin) else {}
    return Problem(
        name=origin.name,
        source=origin.text,
        normalized=origin.identity,
        entry=origin.entry,
        init_args=origin.init_args(),
        axes=axes,
        mode=origin.mode,
        notes=root,
    )


def open_origin(source: Any, inputs: Any, mode: Mode | None) -> Origin:
    """Which kind of source it is; ProblemError says what is allowed."""
    if mode not in (None, "train", "eval"):
        raise ProblemError(f"mode {mode!r} is given; allowed: 'train', 'eval', or None for the source's own")
    if isinstance(source, str) and ":" in source and not os.path.exists(source):
        return _path_origin(source, inputs, mode)
    if isinstance(source, str | os.PathLike):
        return _file_origin(Path(source), inputs, mode)
    if isinstance(source, type) or not callable(source):
        name = getattr(source, "__name__", repr(source))
        raise ProblemError(
            f"{name} is a {type(source).__name__}; "
            "give a file, 'module:attribute', a module object or a function"
        )
    if inputs is None:
        raise ProblemError(
            f"{type(source).__name__} was given without inputs; pass example arguments, such as (x, y)"
        )
    return ObjectOrigin.keep(source, inputs, mode)


def _path_origin(source: str, inputs: Any, mode: Mode | None) -> Origin:
    from kernelwright.core.problem import Entry

    if not isinstance(inputs, str) or ":" not in inputs:
        raise ProblemError(
            f"{source} needs example inputs of the form module:function (--inputs); given: {inputs!r}"
        )
    return PathOrigin(Entry(kind="path", location=source, inputs=inputs, init=""), mode)


def _file_origin(path: Path, inputs: Any, mode: Mode | None) -> Origin:
    if path.suffix != ".py":
        raise ProblemError(f"'{path}' is neither a .py problem file nor of the form module:attribute")
    if not os.path.lexists(path):
        beside = sorted(item.name for item in path.parent.glob("*.py")) if os.path.isdir(path.parent) else []
        raise ProblemError(f"problem file {path} does not exist; {_nearest(path.name, beside)}")
    if inputs is not None:
        raise ProblemError(
            f"{path} brings its own inputs (get_inputs); inputs={inputs!r} cannot be used with it"
        )
    return KernelBenchOrigin.read(path, mode or "train")


def _nearest(name: str, beside: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, beside, n=1)
    return f"did you mean '{near[0]}'?" if near else "give the path of a problem file"


def _outlined(origin: Origin) -> tuple[Outline, str]:
    """Module and arguments on the meta device, or on the CPU where the source needs values."""
    try:
        return outline(origin, {}), "meta"
    except ProblemError:
        return outline(origin, {}, "cpu"), "cpu"
