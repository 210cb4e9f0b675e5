"""`Proposals`: all kernels that the templates can write for one problem.

The graph is cut once, for any value of the axes along which it only repeats itself where it can be seen
at other sizes (`graph.generalize`), else for its own sizes. For every loop nest the templates that can
serve it share a space: a parameter says which template, the others are each template's own under
`<region>.<template>.`. The product over the nests is the space of the problem; a choice becomes one
kernel with one source file and one plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from kernelwright.core.errors import ProblemError
from kernelwright.core.kernel import Kernel, Proposer, Source
from kernelwright.core.plan import Buffer, Copy, Library, Plan, Step
from kernelwright.core.problem import Problem
from kernelwright.core.target import Target
from kernelwright.graph.capture import Captured
from kernelwright.graph.cut import CopyStep, Partition, cut
from kernelwright.graph.generalize import Elsewhere, generalize
from kernelwright.graph.library_steps import LibraryStep
from kernelwright.graph.loops import Region
from kernelwright.propose import TEMPLATES
from kernelwright.propose.literals import LITERALS
from kernelwright.propose.preparing import steps_of_weights, with_prepared
from kernelwright.propose.space import Choice, Parameter, Space
from kernelwright.propose.templates.base import Emitted, Template, resource
from kernelwright.propose.templates.cuda.order import ordered

GRAPH = "graph"
"""Parameter that says which graph a kernel is of."""
_LANGUAGE = {"cpu": ("cpp", "kernel.cpp"), "cuda": ("cuda", "kernel.cu")}


@dataclass(frozen=True)
class Proposals:
    """The cut graph of a problem and the templates for each of its loop nests."""

    problem: Problem
    partition: Partition
    target: Target
    templates: tuple[tuple[Template, ...], ...]
    """For each region, in order of preference."""
    rules: tuple[str, ...] = ()
    """Names of the rewrites that made the graph; empty where it is as written."""
    prepares: bool = False
    """Whether steps that read weights only run in `prepare`."""
    rewritten: Proposals | None = None
    """Those for another graph that computes the same; choices of its own stand under `rewritten.`."""

    @classmethod
    def open(
        cls,
        problem: Problem,
        captured: Captured,
        target: Target,
        elsewhere: Elsewhere | None = None,
        prepares: bool = False,
    ) -> Proposals:
        """Cut the graph and find templates; ProblemError if a loop nest has none.

        `elsewhere` captures the problem at other axis values; without it kernels serve these sizes only.
        """
        partition = cut(captured, problem.axis_sizes)
        if not partition.regions:
            raise ProblemError(
                f"'{problem.name}' is library calls only; there is no loop nest to propose for"
            )
        loaded = [TEMPLATES.get(name)() for name in TEMPLATES.names() if _is_for(name, target)]
        chosen = tuple(
            ordered(tuple(each for each in loaded if each.unavailable(region) is None), region)
            for region in partition.regions
        )
        for region, able in zip(partition.regions, chosen, strict=True):
            if not able:
                reasons = "; ".join(f"{each.name}: {each.unavailable(region)}" for each in loaded)
                raise ProblemError(
                    f"no template can serve region {region.name} of '{problem.name}': {reasons}"
                )
        found = cls(problem, partition, target, chosen, prepares=prepares)
        return found if elsewhere is None else found._freed(captured, elsewhere)

    def _freed(self, captured: Captured, elsewhere: Elsewhere) -> Proposals:
        """The same for any value of the free axes, if that leaves the same choices."""
        axes = self.problem.axis_sizes
        partition = generalize(captured, axes, elsewhere, LITERALS[self.target.name])
        for region, able in zip(partition.regions, self.templates, strict=True):
            if any(template.unavailable(region) is not None for template in able):
                return self
        freed = replace(self, partition=partition)
        return freed if freed.space == self.space else self

    @cached_property
    def space(self) -> Space:
        """The product over regions."""
        whole = Space()
        for region, able in zip(self.partition.regions, self.templates, strict=True):
            if len(able) > 1:
                names = tuple(template.name for template in able)
                whole += Space((Parameter(f"{region.name}.template", names, names[0]),))
            for template in able:
                whole += template.space(region).prefixed(f"{region.name}.{template.name}.")
        if self.rewritten is not None:
            whole += Space((Parameter(GRAPH, ("written", "rewritten"), "written"),))
            whole += self.rewritten.space.prefixed("rewritten.")
        return whole

    @property
    def starts(self) -> tuple[Choice, ...]:
        """Choices to try before any other: the default of the rewritten graph."""
        return () if self.rewritten is None else (self.space.default().but(**{GRAPH: "rewritten"}),)

    def kernel(self, choice: Choice) -> Kernel:
        """The kernel of a choice; equal sources have equal hashes, whatever their choices."""
        if self.rewritten is not None and choice.get(GRAPH) == "rewritten":
            kernel = self.rewritten.kernel(choice.under("rewritten."))
            return kernel.model_copy(update={"proposer": Proposer(name="templates", parameters=dict(choice))})
        emitted = {
            region.name: self._emit(region, able, choice)
            for region, able in zip(self.partition.regions, self.templates, strict=True)
        }
        language, path = _LANGUAGE[self.target.name]
        domain = [self.partition.domain, *(each.domain for each in emitted.values())]
        return Kernel(
            name=f"{self.problem.name}-{language}",
            problem=self.problem.hash,
            language=language,
            sources=(Source(path=path, text=_file(list(emitted.values()))),),
            plan=self._plan(emitted),
            domain=" and ".join(f"({part})" for part in dict.fromkeys(domain) if part),
            proposer=Proposer(name="templates", parameters=dict(choice)),
        )

    def _emit(self, region: Region, able: tuple[Template, ...], choice: Choice) -> Emitted:
        name = choice.get(f"{region.name}.template", able[0].name)
        template = next(each for each in able if each.name == name)
        return template.emit(region, choice.under(f"{region.name}.{name}."), region.name)

    def _plan(self, emitted: dict[str, Emitted]) -> Plan:
        early = steps_of_weights(self.partition) if self.prepares else frozenset()
        buffers: list[Buffer] = with_prepared(self.partition, early)
        parts: tuple[list[Step], list[Step]] = ([], [])
        for at, step in enumerate(self.partition.steps):
            steps = parts[at in early]
            match step:
                case Region():
                    steps += emitted[step.name].steps
                    buffers += emitted[step.name].scratch
                case LibraryStep():
                    steps.append(
                        Library(op=step.op, inputs=step.inputs, keywords=step.keywords, outputs=step.outputs)
                    )
                case CopyStep():
                    steps.append(Copy(source=step.source, destination=step.destination))
        run, prepare = parts
        return Plan(buffers=tuple(buffers), run=tuple(run), prepare=tuple(prepare))


def _is_for(name: str, target: Target) -> bool:
    """Whether a template's name says that it is for the target; others are asked."""
    prefix = {"cpu": "cpp_", "cuda": "cuda_"}[target.name]
    if name.startswith(("cpp_", "cuda_")):
        return name.startswith(prefix)
    return TEMPLATES.get(name).target == target.name


def _file(emitted: list[Emitted]) -> str:
    """One source file: shared text once, then the entries."""
    names = sorted({name for each in emitted for name in each.header})
    return "\n".join([resource(name) for name in names] + [each.source for each in emitted])
