"""CUDA under a candidate's limits: the driver works, compilers run, a poisoned context ends with a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelwright.sandbox import Limits, Worker, WorkerFailure

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

F = "sandbox_cuda_functions:"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker.start("cuda", Limits.candidate(device=True), preload=("torch",)) as worker:
        yield worker


def test_products_copies_and_graphs_run_contained(worker: Worker) -> None:
    assert worker.call(F + "product", timeout_s=60, size=256) == 256.0**3
    assert worker.call(F + "pinned_copy", size=1 << 20) is True
    assert worker.call(F + "graph") == 5.0


def test_a_worker_that_may_start_processes_compiles() -> None:
    limits = Limits.candidate(device=True, processes=128)
    with Worker.start("open", limits, preload=("torch",)) as worker:
        assert worker.call(F + "compiled", timeout_s=120) == 3 * 1024


def test_a_poisoned_context_is_gone_after_a_restart(worker: Worker) -> None:
    with pytest.raises(WorkerFailure):
        worker.call(F + "illegal_access", timeout_s=60)
    worker.restart()
    assert worker.call(F + "product", timeout_s=60, size=64) == 64.0**3
