"""Functions that the sandbox's GPU tests run inside contained workers."""

from __future__ import annotations

from typing import Any


def product(state: dict[str, Any], size: int) -> float:
    import torch

    a = torch.ones(size, size, device="cuda")
    return float((a @ a).sum())


def pinned_copy(state: dict[str, Any], size: int) -> bool:
    import torch

    host = torch.arange(size, dtype=torch.float32).pin_memory()
    device = host.to("cuda", non_blocking=True)
    return bool((device.cpu() == host).all())


def graph(state: dict[str, Any]) -> float:
    import torch

    x = torch.zeros(8, device="cuda")
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        x.add_(1)
    for _ in range(5):
        captured.replay()
    torch.cuda.synchronize()
    return float(x[0])


def compiled(state: dict[str, Any]) -> float:
    import torch

    function = torch.compile(lambda x: torch.relu(x) * 2 + 1)
    return float(function(torch.ones(1024, device="cuda")).sum())


def illegal_access(state: dict[str, Any]) -> None:
    import torch

    index = torch.tensor([1 << 40], device="cuda")
    torch.zeros(4, device="cuda")[index].sum().item()


def null(state: dict[str, Any]) -> None:
    return None
