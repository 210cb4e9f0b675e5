"""CUDA-graph capture and replay of calls, for kernels too short to be launched one by one.

    replay = Replay([lambda: runner.run(slot.args) for slot in slots], rounds=10)
    replay.replay()            # one launch: ten rounds over the slots
    replay.results[i]          # what the last call on slot i returned; overwritten by each replay

A round takes the memory that the round before the last gave back, and begins its turn one slot later
than that: so a call does not find there what it is about to compute. Graphs hold addresses: arguments
must stay where they are. Capture runs nothing, so each call is made once before it, on a side stream,
to let libraries allocate their workspaces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from kernelwright.core.errors import UsageError


class Replay:
    """A captured sequence of calls on the current device."""

    def __init__(self, calls: Sequence[Callable[[], Any]], rounds: int = 1) -> None:
        """Capture `calls` in order, `rounds` times over. UsageError if there is nothing to capture."""
        if not calls or rounds < 1:
            raise UsageError(f"{len(calls)} calls in {rounds} rounds; a replay needs at least one of each")
        self.launches = len(calls) * rounds
        """Calls in one replay."""
        self.results: list[Any] = []
        with torch.no_grad():
            _warm(calls)
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                for number in range(rounds):
                    shift = number // 2 % len(calls)
                    self.results = [call() for call in (*calls[shift:], *calls[:shift])]
        turn = len(calls) - shift
        self.results = [*self.results[turn:], *self.results[:turn]]

    def replay(self) -> None:
        """Enqueue the whole sequence on the current stream."""
        self._graph.replay()


def _warm(calls: Sequence[Callable[[], Any]]) -> None:
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for call in calls:
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
