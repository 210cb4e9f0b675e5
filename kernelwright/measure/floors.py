"""Two floors under a kernel's time: what is impossible, and what is left to gain.

*Rejecting floor*: compulsory bytes over a bandwidth that the machine cannot exceed. A time below it
means that the work was not done. Only bytes that must cross to or from memory count: what the
last-level cache can hold might have stayed there, and is left out. On a GPU the bandwidth is the
datasheet's, on a CPU twice the best measured ceiling: no datasheet names a virtual machine's share
of its memory, and that share moves (reads at 32 GB/s were seen at 56 GB/s minutes later).

*Reporting floor*: the time of the cheapest way that is known, against measured ceilings: one pass
over the compulsory bytes at the rates of reading, writing and copying, or the operations of the
graph after rewriting (`graph.rewrites`) at the product ceiling, whichever is longer. Inputs come from
memory, since caches are flushed before a call; outputs that fit in half of the last-level cache are
written at cache speed. A very good kernel may end a little below this floor: it says how much is left, it
accuses nobody.

Not covered: floors of chains of products whose intermediate results must leave the cache, and of
latency (a kernel of few bytes is bounded by neither).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from kernelwright.core.dtypes import ITEM_BYTES
from kernelwright.core.expr import evaluate
from kernelwright.core.problem import Problem, TensorSpec
from kernelwright.core.target import Target
from kernelwright.measure.ceilings import Ceilings
from kernelwright.measure.datasheet import datasheet_gbs

CPU_MARGIN = 2.0
"""How far above the best measured ceiling a CPU's memory is taken to reach at most."""

Bound = Literal["memory", "compute", "none"]
Column = Literal["strict", "as_shipped"]


@dataclass(frozen=True, slots=True)
class Floor:
    """A lower end of time, what sets it, and why."""

    us: float
    """0 where nothing bounds the time."""
    bound: Bound
    why: str


def rejecting_floor(problem: Problem, target: Target, ceilings: Ceilings) -> Floor:
    """Below this time the work cannot have been done."""
    gbs = datasheet_gbs(ceilings.device) if target.name == "cuda" else CPU_MARGIN * best_gbs(ceilings)
    if problem.compulsory_bytes is None:
        return Floor(0.0, "none", "the compulsory bytes of this problem are not known")
    if gbs is None:
        return Floor(
            0.0, "none", f"the memory bandwidth of '{ceilings.device}' is not in the datasheet table"
        )
    crossing = problem.compulsory_bytes - ceilings.llc_bytes
    if crossing <= 0:
        return Floor(
            0.0, "none",
            f"{problem.compulsory_bytes} compulsory bytes fit in a last-level cache of {ceilings.llc_bytes}: "
            "memory does not bound them",
        )  # fmt: skip
    return Floor(crossing / gbs / 1e3, "memory", f"{crossing} bytes at no more than {gbs:.0f} GB/s")


def reporting_floor(problem: Problem, ceilings: Ceilings, column: Column = "strict") -> Floor:
    """The time of the cheapest known way on this machine."""
    read, written = traffic(problem)
    memory = _memory_us(read, written, ceilings)
    flops = least_flops(problem)
    compute = flops / (product_tflops(problem, ceilings, column) * 1e6)
    if max(memory, compute) == 0:
        return Floor(0.0, "none", "neither bytes nor operations are known")
    if compute > memory:
        return Floor(compute, "compute", f"{flops} operations at the {column} product ceiling")
    return Floor(memory, "memory", f"{read} bytes read and {written} written once at the measured ceilings")


def rejecting_floor_us(problem: Problem, target: Target, ceilings: Ceilings) -> float:
    """Microseconds of `rejecting_floor`; 0 where nothing bounds the time."""
    return rejecting_floor(problem, target, ceilings).us


def reporting_floor_us(problem: Problem, ceilings: Ceilings, column: Column = "strict") -> float:
    """Microseconds of `reporting_floor`; 0 where nothing bounds the time."""
    return reporting_floor(problem, ceilings, column).us


def best_gbs(ceilings: Ceilings) -> float:
    """The highest rate at which memory was seen to move bytes, in GB/s."""
    return max(ceilings.read_gbs, ceilings.write_gbs, ceilings.copy_gbs)


def traffic(problem: Problem) -> tuple[int, int]:
    """Bytes that must be read and bytes that must be written, at the base workload."""
    mutated = [spec for spec in (*problem.weights, *problem.inputs) if spec.name in problem.mutated]
    written = sum(_bytes(spec, problem) for spec in (*problem.outputs, *mutated))
    if problem.compulsory_bytes is not None:
        return max(problem.compulsory_bytes - written, 0), written
    return sum(_bytes(spec, problem) for spec in (*problem.inputs, *problem.weights)), written


def least_flops(problem: Problem) -> int:
    """Operations of the cheapest known form of the graph; 0 where there is no graph."""
    known = [count for count in (problem.graph_flops, problem.rewritten_flops) if count is not None]
    return min(known, default=0)


def product_tflops(problem: Problem, ceilings: Ceilings, column: Column) -> float:
    """The product ceiling in TFLOP/s that this problem's types and this column allow.

    In the strict column fp32 products may be made of three tf32 products, which keeps fp32's precision
    at a third of the tf32 rate.
    """
    floats = {spec.dtype for spec in problem.inputs} & {"float16", "bfloat16"}
    if floats and ceilings.half_tflops:
        return ceilings.half_tflops
    tf32 = ceilings.tf32_tflops or 0.0
    shipped = problem.flags.tf32_matmul or problem.flags.tf32_conv
    return max(ceilings.fp32_tflops, tf32 if column == "as_shipped" and shipped else tf32 / 3)


def sol_score(kernel_us: float, baseline_us: float, floor_us: float) -> float | None:
    """1 / (1 + (kernel - floor) / (baseline - floor)): 0.5 at the baseline, 1 at the floor.

    The score of SOL-ExecBench (arXiv 2603.19173). None where the baseline itself is at the floor.
    """
    if baseline_us <= floor_us or floor_us <= 0:
        return None
    return 1 / (1 + max(kernel_us - floor_us, 0.0) / (baseline_us - floor_us))


def _memory_us(read: int, written: int, ceilings: Ceilings) -> float:
    if ceilings.cached_gbs and written <= ceilings.llc_bytes // 2:
        return read / ceilings.read_gbs / 1e3 + written / ceilings.cached_gbs / 1e3
    both = min(read, written)
    return (
        2 * both / ceilings.copy_gbs
        + (read - both) / ceilings.read_gbs
        + (written - both) / ceilings.write_gbs
    ) / 1e3


def _bytes(spec: TensorSpec, problem: Problem) -> int:
    axes = problem.axis_sizes
    return math.prod(evaluate(size, axes) for size in spec.shape) * ITEM_BYTES[spec.dtype]
