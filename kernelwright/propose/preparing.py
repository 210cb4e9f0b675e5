"""Which steps of a partition read weights only: they can run in a plan's `prepare`.

`prepare` runs when weights change, so such a step is done again exactly when its result may be another.
A weight that a call changes in place is none of these: it changes with every call.
"""

from __future__ import annotations

from kernelwright.core.plan import Buffer
from kernelwright.graph.cut import CopyStep, Partition, read_by
from kernelwright.graph.library_steps import LibraryStep
from kernelwright.graph.loops import Region

_Step = Region | LibraryStep | CopyStep


def steps_of_weights(partition: Partition) -> frozenset[int]:
    """Numbers of the steps whose results depend on weights only, and which give no output."""
    roles = {buffer.name: buffer.role for buffer in partition.buffers}
    known = {name for name, role in roles.items() if role == "weight"}
    found: set[int] = set()
    for at, step in enumerate(partition.steps):
        written = _written(step)
        if read_by(step) <= known and all(roles[name] == "scratch" for name in written):
            found.add(at)
            known |= written
    return frozenset(found)


def with_prepared(partition: Partition, early: frozenset[int]) -> list[Buffer]:
    """The buffers; those that `early` steps write and others read live from one `prepare` to the next."""
    made = {name for at in early for name in _written(partition.steps[at])}
    later = {name for at, step in enumerate(partition.steps) if at not in early for name in read_by(step)}
    kept = made & later
    return [
        buffer.model_copy(update={"role": "prepared"}) if buffer.name in kept else buffer
        for buffer in partition.buffers
    ]


def _written(step: _Step) -> set[str]:
    if isinstance(step, CopyStep):
        return {step.destination}
    if isinstance(step, Region):
        return {store.access.buffer for store in step.stores}
    return set(step.outputs)
