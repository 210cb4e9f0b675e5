"""This pack as the command line sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernelwright.workloads.option_pricing.problems import FILES
from kernelwright.workloads.packs import Pack


def _bench() -> Iterator[dict[str, Any]]:
    from kernelwright.workloads.option_pricing.benchmark import records

    yield from records()


PACK = Pack(
    name="option_pricing",
    summary="Prices, Greeks and implied volatilities of European options (Black-76, Black-Scholes-Merton).",
    public="kernelwright.workloads.option_pricing",
    problems=FILES,
    bench=_bench,
    needs=("numpy",),
    peers=("py_vollib", "py_vollib_vectorized", "fast_vollib"),
    extra="option-pricing",
)
