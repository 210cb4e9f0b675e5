"""Run somebody's code so that every tensor it makes lies on one device.

`torch.device(...)` as a context fills in a device where none is named. A file that names one
(`device="cuda"`, `.cuda()`) is overruled here as well, so that the same problem is made on a CPU,
on a GPU, or on the meta device, where only shapes exist. Tensors that come from elsewhere (NumPy)
are moved by the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree


@contextmanager
def placed(device: torch.device | str, seed: int | None = None) -> Iterator[None]:
    """Factories and moves inside the block go to `device`; torch's generators start at `seed`."""
    target = torch.device(device)
    if seed is not None:
        torch.manual_seed(seed)
    with torch.no_grad(), _Overruled(target), target:
        yield


def moved(value: Any, device: torch.device | str) -> Any:
    """`value` with every tensor in it on `device`."""
    return pytree.tree_map(lambda x: x.to(device) if isinstance(x, torch.Tensor) else x, value)


class _Overruled(TorchFunctionMode):
    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self.device = device

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.Tensor.cuda, torch.Tensor.cpu):
            func, args = torch.Tensor.to, (args[0], self.device)
        elif func is torch.Tensor.to and len(args) > 1 and isinstance(args[1], str | int | torch.device):
            args = (args[0], self.device, *args[2:])
        if kwargs.get("device") is not None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)
