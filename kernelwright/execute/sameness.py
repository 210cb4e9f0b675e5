"""Whether two modules compute the same: their graphs as traced, operation by operation, numbers included.

    first_difference(given, own, arguments)     # "" where the graphs are equal, None where one has none

Nothing is run: both modules and their arguments are on the meta device. Names of arguments do not count,
those of weights do. Not covered: values of tensors that a graph holds as constants.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from kernelwright.core.errors import ProblemError
from kernelwright.graph.exporting import export

_SHOWN = 100
"""Characters of an operation that a message holds."""


def first_difference(
    given: Callable[..., Any], own: Callable[..., Any], arguments: Sequence[Any]
) -> str | None:
    """Where the graph of `given` leaves that of `own`, in words; None if one of them cannot be traced."""
    try:
        found, wanted = (_lines(export(module, tuple(arguments))) for module in (given, own))
    except ProblemError:
        return None
    for here, there in zip_longest(found, wanted, fillvalue="nothing"):
        if here != there:
            return f"it computes {_shown(here)} where the problem has {_shown(there)}"
    return ""


def _lines(program: ExportedProgram) -> list[str]:
    """The operations of a program and of the blocks inside it, one a line."""
    names = _names(program)
    parts = [part for part in program.graph_module.modules() if isinstance(part, fx.GraphModule)]
    return [line for part in parts for line in _operations(part, names if part is parts[0] else {})]


def _names(program: ExportedProgram) -> dict[str, str]:
    """What a placeholder stands for: an argument by its number, what is held by its name."""
    specs = program.graph_signature.input_specs
    return {
        spec.arg.name: f"input {number}" if spec.kind is InputKind.USER_INPUT else str(spec.target)
        for number, spec in enumerate(sorted(specs, key=lambda spec: spec.kind is not InputKind.USER_INPUT))
    }


def _operations(part: fx.GraphModule, names: dict[str, str]) -> list[str]:
    called: dict[fx.Node, str] = {}
    lines: list[str] = []
    for node in part.graph.nodes:
        if node.op == "placeholder":
            called[node] = f"<{names.get(node.name, node.name)}>"
            continue
        called[node] = f"%{len(lines)}"
        args = fx.map_arg((node.args, node.kwargs), called.__getitem__)
        lines.append(f"{node.target}{args}")
    return lines


def _shown(line: str) -> str:
    return textwrap.shorten(line.replace("'", ""), _SHOWN, placeholder=" ...")
