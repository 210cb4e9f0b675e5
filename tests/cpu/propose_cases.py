"""Shared by the tests of cutting and proposing: problems from functions, and a plain interpreter of regions.

The interpreter evaluates a loop nest with torch, one tensor over all loops for each node. It shares
nothing with the templates, so that a fault in `cut` and one in a template are told apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from kernelwright.core.problem import Entry, Problem, TensorSpec
from kernelwright.core.target import Target
from kernelwright.execute.runner import Runner
from kernelwright.graph.capture import Captured, Placeholder, capture
from kernelwright.graph.cut import CopyStep, Partition
from kernelwright.graph.decompose import decompositions
from kernelwright.graph.loops import Access, Apply, Const, Index, Load, Reduce, Region, SizeOf
from kernelwright.languages import build
from kernelwright.propose.proposals import Proposals
from kernelwright.propose.space import Choice

CPU = Target(name="cpu", arch="native")


def problem_of(module: Any, args: Sequence[torch.Tensor]) -> tuple[Problem, Captured]:
    """A problem with all its tensors named, and its captured graph."""
    captured = capture(module, args)
    inputs = [held.name for held in captured.placeholders.values() if held.kind == "input"]
    held = dict(module.state_dict()) if isinstance(module, torch.nn.Module) else {}
    single = len(captured.outputs) == 1
    outputs = [
        _spec("out" if single else f"out{at}", node.meta["val"]) for at, node in enumerate(captured.outputs)
    ]
    problem = Problem(
        name="case",
        source="",
        normalized="",
        entry=Entry(kind="object", location=""),
        inputs=tuple(_spec(name, value) for name, value in zip(inputs, args, strict=True)),
        weights=tuple(_spec(name, value) for name, value in held.items()),
        outputs=tuple(outputs),
        mutated=tuple(captured.mutations),
    )
    return problem, captured


def traced(function: Any, args: Sequence[torch.Tensor]) -> Captured:
    """The decomposed graph of a pure function of tensors; much faster than an export."""
    module = make_fx(function, decomposition_table=_table(), tracing_mode="fake")(*args)
    nodes = list(module.graph.nodes)
    places = [node for node in nodes if node.op == "placeholder"]
    returned = nodes[-1].args[0]
    return Captured(
        graph_module=module,
        placeholders={node.name: Placeholder("input", at, f"x{at}") for at, node in enumerate(places)},
        outputs=tuple(returned) if isinstance(returned, tuple | list) else (returned,),
        mutations={},
        signature="",
        random=False,
        returned=returned,
        original=module,
        original_placeholders={},
    )


@cache
def _table() -> dict[Any, Any]:
    return decompositions()


def _spec(name: str, tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(name=name, dtype=str(tensor.dtype).removeprefix("torch."), shape=tuple(tensor.shape))


def function_proposals(function: Any, args: Sequence[torch.Tensor]) -> Proposals:
    """Proposals for a pure function of tensors called `x0`, `x1`, ..."""
    captured = traced(function, args)
    single = len(captured.outputs) == 1
    problem = Problem(
        name="case",
        source="",
        normalized="",
        entry=Entry(kind="object", location=""),
        inputs=tuple(_spec(f"x{at}", value) for at, value in enumerate(args)),
        outputs=tuple(
            _spec("out" if single else f"out{at}", node.meta["val"])
            for at, node in enumerate(captured.outputs)
        ),
    )
    return Proposals.open(problem, captured, CPU)


def run_choice(
    proposals: Proposals, choice: Choice, module: Any, args: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """Build and run one choice."""
    kernel = proposals.kernel(choice)
    built = build(kernel, CPU)
    assert built.status == "built", built.log
    runner = Runner(kernel, built, proposals.problem, {}, "cpu")
    held = module.state_dict() if isinstance(module, torch.nn.Module) else {}
    runner.prepare({name: tensor.clone() for name, tensor in held.items()})
    return list(runner.run(list(args)))


def interpret(partition: Partition, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Every buffer after the partition's loop nests and copies have run, as flat tensors."""
    flat = {name: tensor.contiguous().reshape(-1).clone() for name, tensor in tensors.items()}
    for buffer in partition.buffers:
        if buffer.name not in flat:
            count = math.prod(int(size) for size in buffer.shape)
            flat[buffer.name] = torch.full((count,), 77, dtype=getattr(torch, buffer.dtype))
    for step in partition.steps:
        if isinstance(step, CopyStep):
            flat[step.destination].copy_(flat[step.source])
        else:
            assert isinstance(step, Region), step
            _interpret_region(step, flat)
    return flat


def _interpret_region(region: Region, flat: dict[str, torch.Tensor]) -> None:
    extents = [dim.extent for dim in region.dims]
    values: list[torch.Tensor] = []
    for node in region.nodes:
        dtype = getattr(torch, "bool" if not hasattr(node, "dtype") else node.dtype)
        match node:
            case Load(access=access):
                values.append(flat[access.buffer][_places(access, extents)])
            case Const(value=value):
                values.append(torch.full(extents, value, dtype=dtype))
            case SizeOf(dims=dims):
                values.append(torch.full(extents, math.prod(extents[dim] for dim in dims), dtype=dtype))
            case Apply(op=op, args=args):
                values.append(_apply(op, [values[arg] for arg in args], dtype))
            case Reduce(op=op, arg=arg):
                values.append(_fold(op, values[arg], sorted(region.reduced), dtype).expand(extents))
            case Index(dim=dim):
                shape = [-1 if at == dim else 1 for at in range(len(extents))]
                values.append(torch.arange(extents[dim]).reshape(shape).expand(extents))
    for store in region.stores:
        value = values[store.value].expand(extents).to(getattr(torch, store.dtype))
        flat[store.access.buffer][_places(store.access, extents)] = value


def _places(access: Access, extents: Sequence[int]) -> torch.Tensor:
    places = torch.full(list(extents), int(access.offset))
    for dim, (extent, stride) in enumerate(zip(extents, access.strides, strict=True)):
        shape = [1] * len(extents)
        shape[dim] = extent
        places = places + (torch.arange(extent) * int(stride)).reshape(shape)
    return places


def _apply(op: str, args: list[torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
    match op:
        case "cast":
            return args[0].to(dtype)
        case "relu":
            return args[0].clamp_min(0)
        case "where":
            return torch.where(*args)
    return getattr(torch, op)(*args)


def _fold(op: str, value: torch.Tensor, dims: list[int], dtype: torch.dtype) -> torch.Tensor:
    match op:
        case "sum":
            return value.sum(dims, keepdim=True, dtype=dtype)
        case "prod":
            for dim in dims:
                value = value.prod(dim, keepdim=True)
            return value
    if value.dtype is torch.bool:
        return (value.int().amax if op == "max" else value.int().amin)(dims, keepdim=True).bool()
    return (value.amax if op == "max" else value.amin)(dims, keepdim=True)
