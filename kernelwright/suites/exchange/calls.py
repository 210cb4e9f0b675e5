"""What the texts that are written from definitions and solutions call: inputs, and outputs in order.

Those texts run in workers, so nothing here imports more than torch and the places of kept tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from kernelwright.core.errors import EnvironmentFault
from kernelwright.suites.exchange.tensors import stored_path

Form = tuple[tuple[int, ...] | None, str]
"""Shape (None for a Python number) and element type."""
_INTEGERS = {"int8": (-128, 128), "uint8": (0, 256), "bool": (0, 2)}
_OTHER_INTEGERS = (-1024, 1024)

Module = torch.nn.Module


def random_tensor(shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    """Normal numbers; integers from -1024 to 1023, or all that the type holds where that is less."""
    kind = getattr(torch, dtype)
    if kind.is_floating_point:
        return torch.randn(shape, dtype=kind)
    return torch.randint(*_INTEGERS.get(dtype, _OTHER_INTEGERS), shape).to(kind)


def stored_tensor(digest: str, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    """A tensor from the data directory, new each time."""
    kind = getattr(torch, dtype)
    if torch.get_default_device().type == "meta":
        return torch.empty(shape, dtype=kind)
    try:
        data = bytearray(stored_path(digest).read_bytes())
    except OSError as error:
        raise EnvironmentFault(f"the tensor {digest[:12]} is gone; read the workload again") from error
    if not data:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(data, dtype=kind).view(shape)


def default_device() -> torch.device:
    """Where tensors are made now."""
    return torch.get_default_device()


def custom_inputs(made: Any, scalars: Mapping[str, Any], forms: Mapping[str, Form]) -> list[Any]:
    """What a definition's own function made and the workload's numbers, in the order of the inputs.

    ValueError if they do not fit the definition.
    """
    if not isinstance(made, dict):
        raise ValueError(f"the function that makes the inputs gives a {type(made).__name__}, not a dict")
    made = {**made, **scalars}
    for name, (shape, dtype) in forms.items():
        if name not in made:
            raise ValueError(f"the function that makes the inputs gives no '{name}'")
        if shape is not None:
            _check(name, made[name], shape, dtype)
    return [made[name] for name in forms]


def in_order(returned: Any, dtypes: Mapping[str, str]) -> tuple[torch.Tensor, ...]:
    """What `run` returned as tensors, one for each output; ValueError if there are more or fewer."""
    if isinstance(returned, dict):
        missing = [name for name in dtypes if name not in returned]
        if missing:
            raise ValueError(f"no output '{missing[0]}' comes back")
        returned = [returned[name] for name in dtypes]
    elif not isinstance(returned, tuple | list):
        returned = [returned]
    if len(returned) != len(dtypes):
        raise ValueError(f"{len(returned)} outputs come back; the definition has {len(dtypes)}")
    return tuple(_tensor(value, dtype) for value, dtype in zip(returned, dtypes.values(), strict=True))


def outputs(forms: Sequence[Form], device: torch.device) -> tuple[torch.Tensor, ...]:
    """Memory for outputs that are passed to be written."""
    return tuple(
        torch.empty(shape or (), dtype=getattr(torch, dtype), device=device) for shape, dtype in forms
    )


def device_of(*values: Any) -> torch.device:
    """Where the first tensor lies; the CPU where there is none."""
    return next((value.device for value in values if isinstance(value, torch.Tensor)), torch.device("cpu"))


def require(holds: bool, constraint: str) -> None:
    """ValueError where a definition's constraint does not hold."""
    if not holds:
        raise ValueError(f"the constraint {constraint!r} does not hold at these sizes")


def whole(size: float) -> int:
    """A computed size as an integer; ValueError if it is none."""
    if size != int(size):
        raise ValueError(f"a size of {size} is no whole number")
    return int(size)


def _tensor(value: Any, dtype: str) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=getattr(torch, dtype))


def _check(name: str, value: Any, shape: tuple[int, ...], dtype: str) -> None:
    given = (
        (tuple(value.shape), str(value.dtype)) if isinstance(value, torch.Tensor) else type(value).__name__
    )
    if given != (shape, f"torch.{dtype}"):
        raise ValueError(f"input '{name}' is {given}; the definition says {shape} of {dtype}")
