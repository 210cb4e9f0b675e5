"""Compiling ahead: kernels of a batch are built side by side while (or before) others are measured.

Compilers run as child processes, so threads suffice. On a CPU target a batch is compiled *before*
its kernels are measured, so that compilers do not disturb the clock; on CUDA the next batch is
compiled while this one is measured. A kernel is never built twice: equal hashes share a future.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType

from kernelwright.core.kernel import Build, Kernel

Builder = Callable[[Kernel], Build]


class Ahead:
    """Builds in `workers` threads. Use as a context manager; leaving drops what has not begun."""

    def __init__(self, build: Builder, workers: int) -> None:
        self._build = build
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="build")
        self._futures: dict[str, Future[Build]] = {}

    def __enter__(self) -> Ahead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def begin(self, kernels: Iterable[Kernel]) -> None:
        """Start building; returns at once."""
        for kernel in kernels:
            if kernel.hash not in self._futures:
                self._futures[kernel.hash] = self._pool.submit(self._build, kernel)

    def settled(self, kernels: Iterable[Kernel], timeout_s: float) -> bool:
        """Wait until these are built, or `timeout_s` has passed; whether they are built."""
        _, unfinished = wait([self._futures[kernel.hash] for kernel in kernels], timeout=timeout_s)
        return not unfinished

    def result(self, kernel: Kernel) -> Build:
        """The build of a kernel that was begun; waits for it. Raises what building raised."""
        return self._futures[kernel.hash].result()
