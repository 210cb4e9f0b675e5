"""Hand-made regions in every form that the CUDA templates serve, at any size."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from kernelwright.core.dtypes import Dtype
from kernelwright.graph.loops import (
    Access,
    Apply,
    Const,
    Dim,
    Load,
    Node,
    Reduce,
    Region,
    SizeOf,
    Store,
)


@dataclass
class Sketch:
    """A region being written down."""

    shape: tuple[int, ...]
    reduced: tuple[int, ...] = ()
    dtype: Dtype = "float32"
    nodes: list[Node] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)

    def _put(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def strides(self, dims: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Contiguous strides of a tensor over `dims`, 0 along the others."""
        dims = tuple(range(len(self.shape))) if dims is None else dims
        return tuple(
            math.prod(self.shape[other] for other in dims if other > dim) if dim in dims else 0
            for dim in range(len(self.shape))
        )

    def load(self, buffer: str, dims: tuple[int, ...] | None = None, dtype: Dtype | None = None) -> int:
        return self._put(Load(Access(buffer, self.strides(dims)), dtype or self.dtype))

    def const(self, value: float) -> int:
        return self._put(Const(value, "float32"))

    def apply(self, op: str, *args: int, dtype: Dtype = "float32") -> int:
        return self._put(Apply(op, args, dtype))

    def reduce(self, op: str, arg: int) -> int:
        return self._put(Reduce(op, arg, "float32"))  # type: ignore[arg-type]

    def count(self) -> int:
        return self._put(SizeOf(self.reduced, "float32"))

    def store(
        self, buffer: str, value: int, dims: tuple[int, ...] | None = None, dtype: Dtype | None = None
    ) -> None:
        self.stores.append(Store(Access(buffer, self.strides(dims)), value, dtype or self.dtype))

    def kept(self) -> tuple[int, ...]:
        return tuple(dim for dim in range(len(self.shape)) if dim not in self.reduced)

    def mean(self, arg: int) -> int:
        return self.apply("div", self.reduce("sum", arg), self.count())

    def centred(self, x: int) -> tuple[int, int, int]:
        """Difference from the mean, its variance, and the mean."""
        mean = self.mean(x)
        apart = self.apply("sub", x, mean)
        return apart, self.mean(self.apply("mul", apart, apart)), mean

    def region(self, name: str) -> Region:
        dims = tuple(Dim(f"d{at}", size, size) for at, size in enumerate(self.shape))
        return Region(name, dims, frozenset(self.reduced), tuple(self.nodes), tuple(self.stores))


def open_ended(region: Region) -> Region:
    """The same for any size `n` of its first dimension, on which no stride depends."""
    first, *others = region.dims
    return replace(region, dims=(replace(first, size="n"), *others))


def at_size(region: Region, size: int) -> Region:
    """`region` with a first dimension of this size."""
    first, *others = region.dims
    return replace(region, dims=(replace(first, size=size, extent=size), *others))


def relu(shape: tuple[int, ...], dtype: Dtype = "float32") -> Region:
    s = Sketch(shape, dtype=dtype)
    s.store("out", s.apply("relu", s.load("x")))
    return s.region("relu")


def bias_gelu_residual(shape: tuple[int, ...], dtype: Dtype = "float32") -> Region:
    """gelu(x + bias) + residual, bias over the last dimension."""
    s = Sketch(shape, dtype=dtype)
    y = s.apply("add", s.load("x"), s.load("bias", (len(shape) - 1,)))
    gate = s.apply("add", s.apply("erf", s.apply("mul", y, s.const(0.5**0.5))), s.const(1.0))
    gelu = s.apply("mul", s.apply("mul", y, s.const(0.5)), gate)
    s.store("out", s.apply("add", gelu, s.load("residual")))
    return s.region("bias_gelu_residual")


def swiglu(shape: tuple[int, int], dtype: Dtype = "float32") -> Region:
    """x[:, :n] * silu(x[:, n:]) for x of 2n columns."""
    cols = shape[1]
    s = Sketch(shape, dtype=dtype)
    halves = [s._put(Load(Access("x", (2 * cols, 1), at), dtype)) for at in (0, cols)]
    s.store("out", s.apply("mul", halves[0], s.apply("mul", halves[1], s.apply("sigmoid", halves[1]))))
    return s.region("swiglu")


def shifted(size: int, offset: int) -> Region:
    """out[offset:] = x[offset:] + y, y of its own."""
    s = Sketch((size,))
    x = s._put(Load(Access("x", (1,), offset), "float32"))
    value = s.apply("add", x, s.load("y"))
    s.stores.append(Store(Access("out", (1,), offset), value, "float32"))
    return s.region("shifted")


def transposed(shape: tuple[int, int]) -> Region:
    """out = x.t() + 1 for contiguous x."""
    s = Sketch(shape)
    x = s._put(Load(Access("x", (1, shape[0])), "float32"))
    s.store("out", s.apply("add", x, s.const(1.0)))
    return s.region("transposed")


def softmax(shape: tuple[int, int], log: bool = False, dtype: Dtype = "float32") -> Region:
    s = Sketch(shape, (1,), dtype)
    apart = s.apply("sub", (x := s.load("x")), s.reduce("max", x))
    exponential = s.apply("exp", apart)
    total = s.reduce("sum", exponential)
    s.store(
        "out", s.apply("sub", apart, s.apply("log", total)) if log else s.apply("div", exponential, total)
    )
    return s.region("log_softmax" if log else "softmax")


def layernorm(shape: tuple[int, ...], normed: int, dtype: Dtype = "float32") -> Region:
    """Over the last `normed` dimensions, with weight and bias."""
    reduced = tuple(range(len(shape) - normed, len(shape)))
    s = Sketch(shape, reduced, dtype)
    apart, variance, _ = s.centred(s.load("x"))
    scale = s.apply("rsqrt", s.apply("add", variance, s.const(1e-5)))
    y = s.apply("mul", s.apply("mul", apart, scale), s.load("weight", reduced))
    s.store("out", s.apply("add", y, s.load("bias", reduced)))
    return s.region("layernorm")


def rmsnorm_over_channels(shape: tuple[int, int, int]) -> Region:
    """x / sqrt(mean(x², dim=1) + eps)."""
    s = Sketch(shape, (1,))
    x = s.load("x")
    mean = s.mean(s.apply("pow", x, s.const(2.0)))
    s.store("out", s.apply("div", x, s.apply("sqrt", s.apply("add", mean, s.const(1e-5)))))
    return s.region("rmsnorm")


def groupnorm(shape: tuple[int, int, int, int]) -> Region:
    """Dimensions (batch, group, channel in group, space), weight and bias per channel."""
    s = Sketch(shape, (2, 3))
    apart, variance, _ = s.centred(s.load("x"))
    y = s.apply("mul", apart, s.apply("rsqrt", s.apply("add", variance, s.const(1e-5))))
    y = s.apply("mul", y, s.load("weight", (1, 2)))
    s.store("out", s.apply("add", y, s.load("bias", (1, 2))))
    return s.region("groupnorm")


def batchnorm(shape: tuple[int, int, int]) -> Region:
    """Training mode over (batch, channel, space): normalizes and moves the running statistics."""
    s = Sketch(shape, (0, 2))
    apart, variance, mean = s.centred(s.load("x"))
    y = s.apply("mul", apart, s.apply("rsqrt", s.apply("add", variance, s.const(1e-5))))
    y = s.apply("mul", y, s.load("weight", (1,)))
    s.store("out", s.apply("add", y, s.load("bias", (1,))))
    count = shape[0] * shape[2]
    unbiased = s.apply("mul", variance, s.const(count / (count - 1)))
    for name, value in (("running_mean", mean), ("running_var", unbiased)):
        moved = s.apply("mul", s.load(name, (1,)), s.const(0.9))
        s.store(name, s.apply("add", moved, s.apply("mul", value, s.const(0.1))), (1,))
    return s.region("batchnorm")


def shifted_columns(shape: tuple[int, int, int]) -> Region:
    """sum(x - shift) over dim 1, shift along the last dimension."""
    s = Sketch(shape, (1,))
    s.store("out", s.reduce("sum", s.apply("sub", s.load("x"), s.load("shift", (2,)))), (0, 2))
    return s.region("shifted_columns")


def reduction(
    shape: tuple[int, ...], reduced: tuple[int, ...], op: str = "sum", dtype: Dtype = "float32"
) -> Region:
    """`op` (or `mean`) over `reduced`."""
    s = Sketch(shape, reduced, dtype)
    x = s.load("x")
    s.store("out", s.mean(x) if op == "mean" else s.reduce(op, x), s.kept())
    return s.region(f"{op}_reduction")


def scalar(op: str, arguments: int, dtype: Dtype, result: Dtype, size: int) -> Region:
    """out = op(x, y, ...) over `size` elements."""
    s = Sketch((size,), dtype=dtype)
    args = [s.load(name) for name in ("x", "y", "z")[:arguments]]
    s.store("out", s.apply(op, *args, dtype=result), dtype=result)
    return s.region(op)


def at_scale() -> dict[str, Region]:
    """Regions at the sizes that templates are tuned for."""
    return {
        "relu": relu((4096, 393216)),
        "relu_bf16": relu((4096, 4096), "bfloat16"),
        "bias_gelu_residual": bias_gelu_residual((8192, 4096)),
        "swiglu": swiglu((4096, 4096)),
        "transposed": transposed((4096, 4096)),
        "softmax_393216": softmax((4096, 393216)),
        "softmax_128": softmax((65536, 128)),
        "softmax_1024": softmax((262144, 1024)),
        "log_softmax_50257": softmax((8192, 50257), True),
        "log_softmax_4096": softmax((4096, 4096), True),
        "log_softmax_1001_fp16": softmax((4096, 1001), True, "float16"),
        "layernorm_4m": layernorm((16, 64, 256, 256), 3),
        "layernorm_1024": layernorm((8192, 1024), 1),
        "rmsnorm_channels": rmsnorm_over_channels((112, 64, 512 * 512)),
        "groupnorm": groupnorm((112, 8, 8, 512 * 512)),
        "instancenorm": layernorm((112 * 64, 512 * 512), 1),
        "batchnorm": batchnorm((64, 64, 512 * 512)),
        "sum_dim1": reduction((128, 4096, 4095), (1,)),
        "column_mean": reduction((16384, 8192), (0,), "mean"),
        "full_mean": reduction((4096, 65536), (0, 1), "mean"),
        "row_max": reduction((4096, 8192), (1,), "max"),
    }
