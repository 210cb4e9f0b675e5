"""Which floating types a reference uses: its tensors, its casts, and what autocast does in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from kernelwright.graph.capture import capture
from kernelwright.graph.float_types import float_types


class Autocast(torch.nn.Module):
    def __init__(self, device: str, dtype: torch.dtype) -> None:
        super().__init__()
        self.linear, self.device, self.dtype = torch.nn.Linear(4, 4), device, dtype

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast(self.device, dtype=self.dtype):
            y = self.linear(x)
        return y.float()


def test_casts_count_and_integers_do_not() -> None:
    single, half = torch.randn(4, 4), torch.randn(4, 4, dtype=torch.float16)
    cases: list[tuple[Callable[..., torch.Tensor], torch.Tensor, tuple[str, ...]]] = [
        (lambda x: torch.relu(x @ x), single, ("float32",)),
        (lambda x: (x.half() @ x.half()).float(), single, ("float16", "float32")),
        (lambda x: x.to(torch.bfloat16).float(), single, ("bfloat16", "float32")),
        (lambda x: x.double().sum(), single, ("float32", "float64")),
        (lambda x: x * 2, half, ("float16",)),
        (lambda x: x.float() @ x.float(), half, ("float16", "float32")),
        (lambda x: x + 1, torch.ones(4, dtype=torch.int32), ()),
    ]
    for reference, x, types in cases:
        assert float_types(capture(reference, [x])) == types


@pytest.mark.parametrize(
    ("device", "dtype", "types"),
    [
        ("cpu", torch.bfloat16, ("bfloat16", "float32")),
        ("cuda", torch.float16, ("float16", "float32")),
    ],
)
def test_autocast_counts_also_for_a_device_that_is_not_here(
    device: str, dtype: torch.dtype, types: tuple[str, ...]
) -> None:
    module = Autocast(device, dtype).to("meta")
    assert float_types(capture(module, [torch.randn(4, 4, device="meta")])) == types
