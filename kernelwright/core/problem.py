"""`Problem` and `Workload`: what is to be computed, and one point of it.

A problem's hash covers its normalized source, entry names, init arguments, axes, mode, flags and
contract version. It leaves out all that is *derived* by running the reference (tensor lists,
workloads, findings), because that may differ between torch versions.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kernelwright.core.dtypes import Dtype
from kernelwright.core.expr import Expr
from kernelwright.core.wire import Wire, content_hash

CONTRACT_VERSION = 3
"""Version of the precision contract that verdicts are judged by."""


class Axis(Wire):
    """A named size that the problem depends on."""

    name: str
    size: int
    """The value in the source as given."""


class TensorSpec(Wire):
    """A tensor by name: element type and shape over axes (contiguous unless said otherwise)."""

    name: str
    dtype: Dtype
    shape: tuple[Expr, ...]


class ScalarSpec(Wire):
    """What `forward` takes beside its tensors: a number, None or a text; fixed for the problem."""

    name: str
    value: int | float | bool | None
    position: int
    """Index among the arguments of `forward`."""
    text: str | None = None
    """A string, or a type and the like by its name; `value` is None then."""


class Entry(Wire):
    """Where the reference is found."""

    kind: Literal["kernelbench", "path", "object"]
    """A KernelBench-form file; an importable `module:attribute`; a live object, pickled."""
    location: str
    """The file's path, `module:attribute`, or the pickle's path in the data directory."""
    model: str = "Model"
    inputs: str = "get_inputs"
    """Name in the file, or `module:attribute` of a function that returns example inputs."""
    init: str = "get_init_inputs"


class NumericFlags(Wire):
    """Global switches of torch that change what the reference computes."""

    tf32_matmul: bool = False
    tf32_conv: bool = True


class Workload(Wire):
    """One point of a problem: axis values and how its inputs are drawn."""

    name: str
    axes: dict[str, int]
    draw: str = "file"
    """`file`: as the source's own inputs; else a name from `kernelwright.problems.draw`."""


Mode = Literal["train", "eval"]
Randomness = Literal["none", "reproduced", "stochastic"]


class Problem(Wire):
    """What is to be computed."""

    name: str
    source: str
    """Text of the reference, as given."""
    normalized: str
    """The same without comments, docstrings and layout: what the hash covers."""
    entry: Entry
    init_args: tuple[str, ...] = ()
    """`repr` of each argument of the model's constructor."""
    axes: tuple[Axis, ...] = ()
    mode: Mode = "train"
    """KernelBench never calls `.eval()`, so its problems are in train mode."""
    flags: NumericFlags = NumericFlags()
    contract_version: int = CONTRACT_VERSION

    # Derived by running the reference once; not part of the hash.
    inputs: tuple[TensorSpec, ...] = ()
    scalars: tuple[ScalarSpec, ...] = ()
    weights: tuple[TensorSpec, ...] = ()
    """Parameters and buffers, by qualified name."""
    outputs: tuple[TensorSpec, ...] = ()
    mutated: tuple[str, ...] = ()
    """Buffers and inputs that the reference changes in place: they are outputs too."""
    random: Randomness = "none"
    degenerate: tuple[str, ...] = ()
    """Why the task is weak (a constant output, an input that does not matter), empty if it is not."""
    workloads: tuple[Workload, ...] = ()
    """The base point first, then those derived by changing axes."""
    compulsory_bytes: int | None = None
    """Outputs plus the inputs and weights that an output provably depends on, base workload."""
    graph_bytes: int | None = None
    """Bytes moved if each operation of the graph as written reads and writes memory."""
    graph_flops: int | None = None
    """Arithmetic operations of the graph as written, base workload."""
    rewritten_flops: int | None = None
    """The same after rewriting, in the cheapest form that is known: what the reporting floor rests on."""
    float_types: tuple[str, ...] = ()
    """Floating types that the graph computes with or rounds to, by torch's names; empty where there is no
    graph, or none."""
    notes: dict[str, Any] = Field(default_factory=dict)

    @property
    def hash(self) -> str:
        """Identity of the problem, 32 hex digits."""
        entry = self.entry
        return content_hash({
            "source": self.normalized,
            "entry": [entry.kind, entry.model, entry.inputs, entry.init],
            "init_args": list(self.init_args),
            "axes": [[axis.name, axis.size] for axis in self.axes],
            "mode": self.mode,
            "flags": self.flags.model_dump(),
            "contract_version": self.contract_version,
        })  # fmt: skip

    @property
    def base(self) -> Workload:
        """The problem at the sizes it was given with."""
        return self.workloads[0] if self.workloads else Workload(name="base", axes=self.axis_sizes)

    @property
    def axis_sizes(self) -> dict[str, int]:
        """Axis name to size at the base workload."""
        return {axis.name: axis.size for axis in self.axes}

    @property
    def changes_inputs(self) -> bool:
        """Whether a call changes one of its inputs in place."""
        return any(spec.name in self.mutated for spec in self.inputs)
