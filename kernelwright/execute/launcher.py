"""Programs: bound native steps as the flat tables that `launcher.cpp` runs.

    program = Program(steps, order, entries, device=False)
    program.run(pointers, stream=0)

`order` numbers the buffers; `pointers` is a ctypes array of their addresses in that order. One
call runs all steps. A device error is a `KernelFault` that names the step; an error that shows only
when the device has worked is found by whoever synchronizes.
"""

from __future__ import annotations

import ctypes as c
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelwright.execute.bound import (
    Address,
    BoundCall,
    BoundCopy,
    BoundLaunch,
    BoundMemset,
    NativeStep,
    Scalar,
)
from kernelwright.execute.native import Error, Patch, Step, launcher
from kernelwright.execute.reports import KernelFault

_CALL, _LAUNCH, _MEMSET, _COPY = range(4)
_COOPERATIVE, _PROGRAMMATIC, _AWAITED = 1, 2, 4

Entries = Callable[[str, int, int], int]
"""Address or handle of an entry: name, dynamic shared bytes, blocks of a cluster."""


class Program:
    """A run of native steps; free it with `close`."""

    def __init__(
        self, steps: Sequence[NativeStep], order: Mapping[str, int], entries: Entries, *, device: bool
    ) -> None:
        tables = _Tables(steps, order, entries)
        error = Error()
        self.steps = steps
        self._library = launcher()
        self._handle: int | None = self._library.kw_program_new(
            int(device),
            *_table(Step, tables.steps),
            *_table(c.c_int32, tables.after),
            *_table(c.c_uint64, tables.words),
            *_table(Patch, tables.patches),
            1 + max((step.stream for step in steps), default=0),
            c.byref(error),
        )
        if error.code != 0:
            self.close()
            raise KernelFault(f"no streams or events for the plan: {_text(error)}")
        self._error = error

    def run(self, pointers: c.Array[c.c_void_p], stream: int = 0) -> None:
        """Run all steps with these buffers; on a device, enqueue them on `stream`."""
        if self._library.kw_program_run(self._handle, pointers, stream, self._error) != 0:
            step = self._error.step
            where = f"step {step} ({_name(self.steps[step])})" if step >= 0 else "stream setup"
            raise KernelFault(f"{where} failed: {_text(self._error)}")

    def close(self) -> None:
        """Give its tables, streams and events back."""
        if self._handle is not None:
            self._library.kw_program_free(self._handle)
            self._handle = None


class DeviceModule:
    """A cubin loaded into the current CUDA context."""

    def __init__(self, image: bytes) -> None:
        self._library = launcher()
        self._handle = c.c_void_p()
        error = Error()
        if self._library.kw_module_load(image, c.byref(self._handle), c.byref(error)) != 0:
            raise KernelFault(f"the driver does not load the module: {_text(error)}")

    def entry(self, name: str, shared_bytes: int, cluster_blocks: int) -> int:
        """Handle of a kernel, allowed this much dynamic shared memory and this cluster size."""
        function, error = c.c_void_p(), Error()
        code = self._library.kw_module_function(
            self._handle, name.encode(), shared_bytes, cluster_blocks, c.byref(function), c.byref(error)
        )
        if code != 0 or function.value is None:
            raise KernelFault(f"entry '{name}' cannot be launched: {_text(error)}")
        return function.value

    def close(self) -> None:
        """Unload it; after a sticky device error there is nothing left to unload."""
        if self._handle:
            self._library.kw_module_unload(self._handle, c.byref(Error()))
            self._handle = c.c_void_p()


class HostModule:
    """A shared object with `kw_<entry>` shims."""

    def __init__(self, path: str) -> None:
        try:
            self._library = c.CDLL(path)
        except OSError as error:
            raise KernelFault(f"the kernel's shared object does not load: {error}") from error

    def entry(self, name: str, shared_bytes: int, cluster_blocks: int) -> int:
        """Address of an entry's shim; the sizes are a device's and unused here."""
        try:
            shim = getattr(self._library, f"kw_{name}")
        except AttributeError as error:
            raise KernelFault(f"the kernel's shared object has no entry '{name}'") from error
        address = c.cast(shim, c.c_void_p).value
        if address is None:
            raise KernelFault(f"entry '{name}' has no address")
        return address

    def close(self) -> None:
        """Shared objects stay loaded: worker threads of OpenMP may still be inside them."""


class _Tables:
    """The flat tables of `launcher.cpp`, filled step by step."""

    def __init__(self, steps: Sequence[NativeStep], order: Mapping[str, int], entries: Entries) -> None:
        self.order = order
        self.entries = entries
        self.words: list[int] = []
        self.patches: list[Patch] = []
        self.after: list[int] = []
        self.steps = [self._step(step) for step in steps]
        for index in self.after:
            self.steps[index].flags |= _AWAITED

    def _step(self, step: NativeStep) -> Step:
        row = Step(
            stream=step.stream,
            first_arg=len(self.words),
            first_after=len(self.after),
            after_count=len(step.after),
        )
        self.after.extend(step.after)
        match step:
            case BoundCall():
                row.kind, row.function = _CALL, self.entries(step.entry, 0, 1)
                self._args(step.args)
            case BoundLaunch():
                self._launch(row, step)
            case BoundMemset():
                row.kind, row.destination = _MEMSET, self.order[step.buffer]
                row.byte, row.nbytes = step.byte, step.nbytes
            case BoundCopy():
                row.kind, row.source, row.destination = (
                    _COPY,
                    self.order[step.source],
                    self.order[step.destination],
                )
                row.nbytes = step.nbytes
        return row

    def _launch(self, row: Step, step: BoundLaunch) -> None:
        x, y, z = step.cluster
        row.kind, row.function = _LAUNCH, self.entries(step.entry, step.shared_bytes, x * y * z)
        row.grid[:], row.block[:], row.cluster[:] = step.grid, step.block, step.cluster
        row.shared_bytes = step.shared_bytes
        row.flags = _COOPERATIVE * step.cooperative | _PROGRAMMATIC * step.programmatic
        self._args(step.args)

    def _args(self, args: Sequence[Address | Scalar]) -> None:
        for arg in args:
            if isinstance(arg, Address):
                self.patches.append(Patch(len(self.words), self.order[arg.buffer], arg.offset))
                self.words.append(0)
            else:
                self.words.append(arg.bits)


def _table(kind: Any, rows: Sequence[Any]) -> tuple[Any, int]:
    """A ctypes array of rows and its length."""
    return (kind * len(rows))(*rows), len(rows)


def _text(error: Error) -> str:
    return f"{error.text.decode(errors='replace')} (code {error.code})"


def _name(step: NativeStep) -> str:
    match step:
        case BoundCall(entry=entry) | BoundLaunch(entry=entry):
            return f"entry '{entry}'"
        case BoundMemset(buffer=buffer):
            return f"memset of '{buffer}'"
        case BoundCopy(source=source, destination=destination):
            return f"copy of '{source}' to '{destination}'"
