"""Make a plan concrete: every expression a number, every name known, every size allowed.

    bind(plan, {"rows": 8, "cols": 4096}) -> BoundPlan

Whatever does not fit is a `PlanRefused` of one line that names the step. What is in the schema but
has no executor yet is refused by name: tensor-map arguments, a library step's `algorithm`, library
steps on a side stream. Whether a buffer matches the *problem* is the runner's to check.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kernelwright.core.errors import UsageError, did_you_mean
from kernelwright.core.expr import Expr, evaluate
from kernelwright.core.plan import Buffer, Call, Copy, Launch, Library, Memset, Plan, Repeat, Step, StepBase
from kernelwright.execute.arguments import bind_args, bind_value, bind_view
from kernelwright.execute.bound import (
    AnyStep,
    BoundBuffer,
    BoundCall,
    BoundCopy,
    BoundLaunch,
    BoundLibrary,
    BoundMemset,
    BoundPlan,
)
from kernelwright.execute.launch_limits import check_launch
from kernelwright.execute.reports import PlanRefused
from kernelwright.execute.roles import check_roles

MAX_BYTES = 1 << 46
"""Largest buffer that a plan may name: 64 TiB, so that no byte count overflows."""
MAX_STEPS = 10_000
"""Most steps of one list once repetitions are unrolled."""
MAX_STREAMS = 16


def bind(plan: Plan, axes: Mapping[str, int]) -> BoundPlan:
    """`plan` at these axis values; PlanRefused if anything in it does not fit."""
    buffers: dict[str, BoundBuffer] = {}
    for buffer in plan.buffers:
        if buffer.name in buffers:
            raise PlanRefused(f"buffer '{buffer.name}' is declared twice; give each buffer one name")
        buffers[buffer.name] = _buffer(buffer, axes)
    bound = BoundPlan(
        axes=dict(axes),
        buffers=buffers,
        run=_Binder("run", buffers).all(plan.run, axes),
        prepare=_Binder("prepare", buffers).all(plan.prepare, axes),
    )
    check_roles(bound)
    return bound


def _buffer(buffer: Buffer, axes: Mapping[str, int]) -> BoundBuffer:
    where = f"buffer '{buffer.name}'"
    bound = BoundBuffer(
        name=buffer.name,
        role=buffer.role,
        dtype=buffer.dtype,
        shape=tuple(_number(where, size, axes) for size in buffer.shape),
    )
    if any(size < 0 for size in bound.shape):
        raise PlanRefused(f"{where} has shape {list(bound.shape)}; sizes must be 0 or more")
    if bound.nbytes > MAX_BYTES:
        raise PlanRefused(f"{where} has {bound.nbytes} bytes; at most {MAX_BYTES} are allowed")
    return bound


def _number(where: str, expr: Expr, axes: Mapping[str, int]) -> int:
    try:
        return evaluate(expr, axes)
    except UsageError as error:
        raise PlanRefused(f"{where}: {error}") from error


class _Binder:
    """Binds one step list, unrolling repetitions."""

    def __init__(self, part: str, buffers: Mapping[str, BoundBuffer]) -> None:
        self.part = part
        self.buffers = buffers
        self.flat: list[AnyStep] = []

    def all(self, steps: Iterable[Step], axes: Mapping[str, int]) -> tuple[AnyStep, ...]:
        """All of `steps`, flat."""
        self._list(tuple(steps), axes, self.part, ())
        return tuple(self.flat)

    def _list(
        self, steps: tuple[Step, ...], axes: Mapping[str, int], where: str, before: tuple[int, ...]
    ) -> None:
        """Append `steps`; each waits for `before` too. A step may wait only for earlier ones of its list."""
        ends: list[tuple[int, ...]] = []
        for index, step in enumerate(steps):
            here = f"{where} step {index} ({step.kind})"
            wrong = [other for other in step.after if not 0 <= other < index]
            if wrong:
                raise PlanRefused(
                    f"{here} waits for step {wrong[0]}; a step may wait only for earlier ones of its list"
                )
            after = before + tuple(end for other in step.after for end in ends[other])
            start = len(self.flat)
            if isinstance(step, Repeat):
                self._repeat(step, axes, here, after)
            else:
                self._append(self._one(step, axes, here, tuple(sorted(set(after)))), here)
            ends.append(self._ends(start))

    def _repeat(self, step: Repeat, axes: Mapping[str, int], here: str, after: tuple[int, ...]) -> None:
        if step.index in axes:
            raise PlanRefused(
                f"{here} binds '{step.index}', which is an axis already; choose another index name"
            )
        if step.stream != 0:
            raise PlanRefused(f"{here} names stream {step.stream}; give streams to the steps inside a repeat")
        count = _number(here, step.count, axes)
        if not 0 <= count <= MAX_STEPS:
            raise PlanRefused(f"{here} has count {count}; allowed are 0 to {MAX_STEPS}")
        for value in range(count):
            self._list(step.steps, {**axes, step.index: value}, here, after)

    def _append(self, step: AnyStep, here: str) -> None:
        if len(self.flat) >= MAX_STEPS:
            raise PlanRefused(f"{here}: more than {MAX_STEPS} steps once repeats are unrolled")
        self.flat.append(step)

    def _ends(self, start: int) -> tuple[int, ...]:
        """The last step of each stream among those appended since `start`."""
        last = {step.stream: start + offset for offset, step in enumerate(self.flat[start:])}
        return tuple(sorted(last.values()))

    def _one(self, step: StepBase, axes: Mapping[str, int], here: str, after: tuple[int, ...]) -> AnyStep:
        if not 0 <= step.stream < MAX_STREAMS:
            raise PlanRefused(f"{here} names stream {step.stream}; allowed are 0 to {MAX_STREAMS - 1}")
        match step:
            case Call():
                return BoundCall(
                    step.stream, after, step.entry, bind_args(here, step.args, self.buffers, axes)
                )
            case Launch():
                return self._launch(step, axes, here, after)
            case Library():
                return self._library(step, axes, here, after)
            case Memset():
                return self._memset(step, here, after)
            case Copy():
                return self._copy(step, here, after)
        raise PlanRefused(
            f"{here} has no executor; implemented kinds: call, launch, library, memset, copy, repeat"
        )

    def _launch(
        self, step: Launch, axes: Mapping[str, int], here: str, after: tuple[int, ...]
    ) -> BoundLaunch:
        def three(values: tuple[Expr, Expr, Expr]) -> tuple[int, int, int]:
            x, y, z = (_number(here, value, axes) for value in values)
            return x, y, z

        bound = BoundLaunch(
            stream=step.stream,
            after=after,
            entry=step.entry,
            args=bind_args(here, step.args, self.buffers, axes),
            grid=three(step.grid),
            block=three(step.block),
            cluster=three(step.cluster),
            shared_bytes=_number(here, step.shared_bytes, axes),
            cooperative=step.cooperative,
            programmatic=step.programmatic,
        )
        check_launch(here, bound)
        return bound

    def _library(
        self, step: Library, axes: Mapping[str, int], here: str, after: tuple[int, ...]
    ) -> BoundLibrary:
        if step.algorithm:
            raise PlanRefused(
                f"{here} asks for algorithm {sorted(step.algorithm)}, which has no executor; leave it empty"
            )
        if step.stream != 0:
            raise PlanRefused(f"{here} names stream {step.stream}; library steps run on stream 0")
        return BoundLibrary(
            stream=0,
            after=after,
            op=step.op,
            inputs=tuple(bind_value(here, value, self.buffers, axes) for value in step.inputs),
            keywords={
                name: bind_value(here, value, self.buffers, axes) for name, value in step.keywords.items()
            },
            outputs=tuple(bind_view(here, {"buffer": name}, self.buffers, axes) for name in step.outputs),
        )

    def _memset(self, step: Memset, here: str, after: tuple[int, ...]) -> BoundMemset:
        if not 0 <= step.byte <= 255:
            raise PlanRefused(f"{here} fills with {step.byte}; a byte is 0 to 255")
        return BoundMemset(step.stream, after, step.buffer, self._known(here, step.buffer).nbytes, step.byte)

    def _copy(self, step: Copy, here: str, after: tuple[int, ...]) -> BoundCopy:
        source, destination = self._known(here, step.source), self._known(here, step.destination)
        if source.nbytes != destination.nbytes:
            raise PlanRefused(
                f"{here} copies {source.nbytes} bytes of '{source.name}' onto {destination.nbytes} of"
                f" '{destination.name}'; both must have the same size"
            )
        return BoundCopy(step.stream, after, source.name, destination.name, source.nbytes)

    def _known(self, here: str, name: str) -> BoundBuffer:
        if name not in self.buffers:
            raise PlanRefused(f"{here} names buffer '{name}'; {did_you_mean(name, self.buffers)}")
        return self.buffers[name]
