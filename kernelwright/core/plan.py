"""`Plan`: what runs, as data.

A plan has named buffers and two ordered step lists: `prepare` runs when weights change, `run` at
every call. All numbers are integers or small expressions over axes (`core.expr`). Every step kind
is in the schema; an executor that does not know one refuses it by name.

Calling convention. A `cpp` entry is an ordinary `extern "C"` function and a `cuda` or `triton`
entry a `__global__` one; `args` are matched to its parameters in order.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from kernelwright.core.dtypes import Dtype
from kernelwright.core.expr import Expr
from kernelwright.core.wire import Wire

Role = Literal["input", "weight", "output", "mutated", "prepared", "scratch"]


class Buffer(Wire):
    """A contiguous tensor that steps read or write."""

    name: str
    role: Role
    """`prepared` lives from one `prepare` to the next, `scratch` only within one `run`; `mutated` is
    an input or weight that is changed in place."""
    dtype: Dtype
    shape: tuple[Expr, ...]


class BufferArg(Wire):
    """Pass the address of a buffer."""

    kind: Literal["buffer"] = "buffer"
    buffer: str
    offset: Expr = 0
    """In elements."""


class IntArg(Wire):
    """Pass an integer computed from axes."""

    kind: Literal["int"] = "int"
    value: Expr
    dtype: Literal["int64", "int32"] = "int64"


class FloatArg(Wire):
    """Pass a constant."""

    kind: Literal["float"] = "float"
    value: float
    dtype: Literal["float32", "float64"] = "float32"


class TensorMapArg(Wire):
    """Pass a tiled tensor map (CUDA bulk copy) over a buffer, by value."""

    kind: Literal["tensor_map"] = "tensor_map"
    buffer: str
    box: tuple[Expr, ...]
    swizzle: Literal["none", "32B", "64B", "128B"] = "none"


Arg = Annotated[BufferArg | IntArg | FloatArg | TensorMapArg, Field(discriminator="kind")]


class StepBase(Wire):
    """What every step may say about ordering."""

    stream: int = 0
    """Steps of one stream run in order; stream 0 is the caller's."""
    after: tuple[int, ...] = ()
    """Indexes of earlier steps in this list, of other streams, that must have ended."""


class Call(StepBase):
    """Call a `cpp` entry on the host."""

    kind: Literal["call"] = "call"
    entry: str
    args: tuple[Arg, ...]


class Launch(StepBase):
    """Launch a device kernel."""

    kind: Literal["launch"] = "launch"
    entry: str
    grid: tuple[Expr, Expr, Expr]
    block: tuple[Expr, Expr, Expr]
    args: tuple[Arg, ...]
    shared_bytes: Expr = 0
    """Dynamic shared memory."""
    cluster: tuple[Expr, Expr, Expr] = (1, 1, 1)
    cooperative: bool = False
    programmatic: bool = False
    """Programmatic dependent launch: may start before the step ahead of it has ended."""


class Library(StepBase):
    """An allow-listed library call in its out-variant."""

    kind: Literal["library"] = "library"
    op: str
    """Such as `aten.mm.out`; the allow-list is `kernelwright.execute.library`."""
    inputs: tuple[Any, ...]
    """Positional arguments: `{"buffer": name}` or plain JSON values."""
    keywords: dict[str, Any] = Field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    """Buffers passed as `out`, in order."""
    algorithm: dict[str, Any] = Field(default_factory=dict)
    """Algorithm, layout and workspace, where the library takes them."""


class Memset(StepBase):
    """Fill a buffer with one byte."""

    kind: Literal["memset"] = "memset"
    buffer: str
    byte: int = 0


class Copy(StepBase):
    """Copy one buffer onto another of the same size."""

    kind: Literal["copy"] = "copy"
    source: str
    destination: str


class Repeat(StepBase):
    """Run inner steps `count` times with `index` bound to 0, 1, ... as an axis."""

    kind: Literal["repeat"] = "repeat"
    index: str
    count: Expr
    steps: tuple[Step, ...]


Step = Annotated[Call | Launch | Library | Memset | Copy | Repeat, Field(discriminator="kind")]


class Plan(Wire):
    """Buffers, and the steps over them."""

    buffers: tuple[Buffer, ...]
    run: tuple[Step, ...]
    prepare: tuple[Step, ...] = ()

    def buffer(self, name: str) -> Buffer:
        """The buffer called `name`; KeyError if there is none."""
        for buffer in self.buffers:
            if buffer.name == name:
                return buffer
        raise KeyError(name)


Repeat.model_rebuild()
Plan.model_rebuild()
