"""Processes that a search on a GPU will want, begun before they are wanted.

A process that can time costs seconds to start and many to compile baselines in. The final judgement
wants several fresh ones: those of its bench, and one for each replicate. They start while torch traces
the problem; the replicates compile their baselines beside the search's own process, sharing what is
found on disk, and are done before anything is timed. Not for CPUs, where they would take the cores that
are timed, nor compiled ahead for problems so large that several processes do not fit in the memory.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.execute.bench import Bench
from kernelwright.execute.replicates import Replicates
from kernelwright.execute.sizes import is_large
from kernelwright.execute.workers import Workers
from kernelwright.measure.stopping import RULES

CORES_TO_PRESTART = 8
"""With fewer, processes that start side by side only wait for each other."""
TIMEOUT_S = 20.0


class Prestarted:
    """The processes of one final judgement; what is left of them ends with `close`."""

    def __init__(self, target: Target) -> None:
        """Start the replicates; returns at once."""
        self.replicates = Replicates(RULES["full"].replicates)
        self._target = target
        self._workers: Workers | None = None

    def compile(self, bench: Bench, names: Sequence[str]) -> None:
        """Begin to make these baselines in the replicates, where the problem is small enough."""
        if not is_large(bench.problem, bench.workload):
            self.replicates.begin(bench.opening, names)

    def settle(self) -> None:
        """Wait until the replicates have compiled, so that they disturb no clock; start the final's bench."""
        self.replicates.settle()
        cores = tuple(sorted(os.sched_getaffinity(0)))
        self._workers = Workers(self._target, cores, None, TIMEOUT_S)

    def bench(self, problem: Problem) -> Bench:
        """A fresh bench for one final judgement; close it before the next is asked for."""
        workers, self._workers = self._workers, None
        opened = Bench.open(problem, problem.base, self._target, workers=workers)
        opened.replicates = self.replicates
        return opened

    def close(self) -> None:
        """End what was not used."""
        self.replicates.close()
        if self._workers is not None:
            self._workers.stop()
            self._workers = None
