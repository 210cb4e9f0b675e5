"""What a kernel is compared with: a name, and how to make a callable of the reference from it.

    make_baseline("compile_max_autotune", module, args, device) -> Baseline

The callable takes `args` as `forward` does and returns what it returns, under `no_grad`. Making one
runs it, so that compiling and tuning lie behind it. Which names apply to which problem and which is
the strongest is not decided here, only whether one *can* be made: `BaselineUnavailable` says why not.

`channels_last` has its weights converted beforehand and its 4-D inputs inside the call, because
inputs arrive contiguous by contract. Shapes are fixed (`dynamic=False`): a compiled baseline is
specialized to the workload as a kernel may be.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch

from kernelwright.core.errors import KernelwrightError, UsageError, boundary, did_you_mean
from kernelwright.execute.graphs import Replay

Baseline = Callable[[Sequence[Any]], Any]
Reference = Callable[..., Any]
"""The module or function that is the reference."""
Maker = Callable[[Reference, Sequence[Any]], Baseline]

COMPILE_MODES = {
    "compile": "default",
    "compile_max_autotune": "max-autotune",
    "compile_max_autotune_no_cudagraphs": "max-autotune-no-cudagraphs",
    "compile_reduce_overhead": "reduce-overhead",
}
_RECOMPILE_LIMIT = 256
"""All modes share one code object; past the limit torch would fall back to eager silently."""


class BaselineUnavailable(KernelwrightError):
    """This baseline cannot be made for this problem; the message is the reason."""


def baseline_names(device: str) -> tuple[str, ...]:
    """Names that exist on a device type, `eager` first."""
    return tuple(_MAKERS[device])


def make_baseline(name: str, module: Reference, args: Sequence[Any], device: str) -> Baseline:
    """A callable for `name`, warmed up on `args`; BaselineUnavailable with the reason if there is none."""
    makers = _MAKERS[device]
    if name not in makers:
        raise UsageError(f"unknown baseline '{name}' on {device}; {did_you_mean(name, makers)}")
    with boundary(BaselineUnavailable, f"{name} cannot be made"), torch.no_grad():
        made = makers[name](module, args)
        for _ in range(2):
            made(args)
        if device == "cuda":
            torch.cuda.synchronize()
    return made


def _eager(module: Reference, args: Sequence[Any]) -> Baseline:
    return lambda given: module(*given)


def _compiled(mode: str) -> Maker:
    def make(module: Reference, args: Sequence[Any]) -> Baseline:
        torch._dynamo.config.recompile_limit = _RECOMPILE_LIMIT
        compiled = torch.compile(module, mode=mode, dynamic=False)

        def call(given: Sequence[Any]) -> Any:
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
            return compiled(*given)

        return call if mode in ("reduce-overhead", "max-autotune") else lambda given: compiled(*given)

    return make


def _channels_last(module: Reference, args: Sequence[Any]) -> Baseline:
    if not any(_is_image(value) for value in args):
        raise BaselineUnavailable("channels_last needs an input of four dimensions")
    other = copy.deepcopy(module)
    if isinstance(other, torch.nn.Module):
        other.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def call(given: Sequence[Any]) -> Any:
        return other(*(_to_channels_last(value) for value in given))

    return call


def _is_image(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() == 4


def _to_channels_last(value: Any) -> Any:
    return value.contiguous(memory_format=torch.channels_last) if _is_image(value) else value


def _cudnn_benchmark(module: Reference, args: Sequence[Any]) -> Baseline:
    def call(given: Sequence[Any]) -> Any:
        before = torch.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = True
        try:
            return module(*given)
        finally:
            torch.backends.cudnn.benchmark = before

    return call


def _eager_graph(module: Reference, args: Sequence[Any]) -> Baseline:
    """One captured graph for each set of arguments, because a graph holds addresses."""
    replays: dict[tuple[int, ...], Replay] = {}

    def call(given: Sequence[Any]) -> Any:
        key = tuple(value.data_ptr() if isinstance(value, torch.Tensor) else 0 for value in given)
        if key not in replays:
            replays[key] = Replay([lambda: module(*given)])
        replays[key].replay()
        return replays[key].results[0]

    return call


_CPU: dict[str, Maker] = {
    "eager": _eager,
    "compile": _compiled("default"),
    "compile_max_autotune": _compiled("max-autotune"),
    "channels_last": _channels_last,
}
_CUDA: dict[str, Maker] = {
    "eager": _eager,
    **{name: _compiled(mode) for name, mode in COMPILE_MODES.items()},
    "eager_graph": _eager_graph,
    "cudnn_benchmark": _cudnn_benchmark,
    "channels_last": _channels_last,
}
_MAKERS = {"cpu": _CPU, "cuda": _CUDA}
