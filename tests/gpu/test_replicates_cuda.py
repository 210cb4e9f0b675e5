"""Fresh processes that were made ready beforehand take the place of a bench's own."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

from kernelwright.core.target import Target  # noqa: E402
from kernelwright.execute.bench import Bench  # noqa: E402
from kernelwright.execute.replicates import Replicates  # noqa: E402
from kernelwright.problems import load_problem  # noqa: E402

PROBLEM = Path(__file__).parents[1] / "cheats" / "problem.py"


def test_a_replicate_is_a_fresh_process_with_its_baselines() -> None:
    problem = load_problem(str(PROBLEM))
    replicates = Replicates(2)
    try:
        with Bench.open(problem, problem.base, Target.parse("cuda")) as bench:
            replicates.begin(bench.opening, ["eager", "channels_last"])
            replicates.settle()
            bench.replicates = replicates
            bench.draw("a", seed=5)
            seen = {bench.candidate.pid}
            for _ in range(2):
                bench.restart()
                seen.add(bench.candidate.pid)
                assert (
                    bench.candidate.call("kernelwright.measure.device_ops:unready", subjects=["eager"]) == []
                )
                assert bench.call("eager", "a") > 0
            assert len(seen) == 3
            assert replicates.take() is None
    finally:
        replicates.close()
