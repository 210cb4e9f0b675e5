"""`Workload` of another project: values of the variable axes, and how each input is made.

A file holds one a line: the workload itself (SOL-ExecBench), or a record with it under `workload` and the
definition's name beside it (flashinfer-bench).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from kernelwright.core.errors import UsageError, did_you_mean
from kernelwright.suites.exchange.definition import Definition, Text
from kernelwright.suites.exchange.document import Document, Part, parse, read_text

NAMES = ("workload.jsonl", "workloads.jsonl")


class Input(Part):
    """How one input is made."""

    type: Literal["random", "scalar", "safetensors", "custom"] | None = None
    value: bool | int | float | None = None
    path: Text | None = None
    tensor_key: Text | None = None

    @property
    def kind(self) -> str:
        """The type; where none is written, the one whose field is there."""
        if self.type is not None:
            return self.type
        return "scalar" if self.value is not None else "safetensors" if self.path else "random"

    @model_validator(mode="after")
    def _whole(self) -> Input:
        if self.kind == "scalar" and self.value is None:
            raise ValueError("an input of type scalar needs a 'value'")
        if self.kind == "safetensors" and not (self.path and self.tensor_key):
            raise ValueError("an input of type safetensors needs 'path' and 'tensor_key'")
        return self


class Workload(Document):
    """One point of a definition."""

    uuid: Text
    axes: dict[Text, Annotated[int, Field(ge=0)]]
    inputs: dict[Text, Input]
    tolerance: dict[str, Any] | None = None
    """Kept and not judged by: the precision contract is."""

    @model_validator(mode="after")
    def _one_way(self) -> Workload:
        custom = [name for name, each in self.inputs.items() if each.kind == "custom"]
        other = [name for name, each in self.inputs.items() if each.kind not in ("custom", "scalar")]
        if custom and other:
            raise ValueError(f"'{custom[0]}' is custom and '{other[0]}' is not; one function makes all")
        return self

    def check(self, definition: Definition, where: str) -> None:
        """UsageError, one line, unless it gives each axis and input of `definition` a value, and no other."""
        wanted = (("axis", definition.variable, self.axes), ("input", definition.inputs, self.inputs))
        for what, names, given in wanted:
            missing = [name for name in names if name not in given]
            if missing:
                raise UsageError(f"{where}: workload {self.uuid} gives no {what} '{missing[0]}'; add it")
        unknown = [name for name in self.inputs if name not in definition.inputs]
        unknown += [name for name in self.axes if name not in definition.axes]
        if unknown:
            known = did_you_mean(unknown[0], [*definition.inputs, *definition.variable])
            raise UsageError(f"{where}: workload {self.uuid} gives '{unknown[0]}'; {known}")
        for name, axis in definition.axes.items():
            if axis.value is not None and self.axes.get(name, axis.value) != axis.value:
                raise UsageError(
                    f"{where}: workload {self.uuid} sets '{name}' to {self.axes[name]}; "
                    f"the definition says {axis.value}"
                )


def read_workloads(path: Path, definition: Definition) -> tuple[Workload, ...]:
    """The workloads of a file, in order; UsageError, one line, for what does not fit the definition."""
    found = []
    for number, line in enumerate(read_text(path, "workload file").splitlines(), 1):
        if line.strip():
            found.append(_of_line(line, f"{path}:{number}", definition))
    if not found:
        raise UsageError(f"workload file '{path}' holds no workload; it has one JSON object a line")
    twice = next((one.uuid for i, one in enumerate(found) if one.uuid in {w.uuid for w in found[:i]}), None)
    if twice is not None:
        raise UsageError(f"workload file '{path}' has '{twice}' twice; give each workload a uuid of its own")
    return tuple(found)


def chosen(workloads: tuple[Workload, ...], uuids: tuple[str, ...]) -> tuple[Workload, ...]:
    """Those whose uuids begin with one of these, or all; UsageError if one is not there."""
    if not uuids:
        return workloads
    for uuid in uuids:
        if not any(each.uuid.startswith(uuid) for each in workloads):
            known = did_you_mean(uuid, [each.uuid for each in workloads])
            raise UsageError(f"no workload '{uuid}'; {known}")
    return tuple(each for each in workloads if each.uuid.startswith(uuids))


def workload_file(definition: Path, of: Definition) -> Path | None:
    """Where the workloads of a definition lie by either project's layout; None if nowhere."""
    places = [definition.parent / name for name in NAMES]
    for folder in definition.parents:
        if folder.name == "definitions":
            below = definition.relative_to(folder).with_suffix(".jsonl")
            places += [folder.parent / "workloads" / below, folder.parent / "workloads" / f"{of.name}.jsonl"]
    return next((place for place in places if os.path.isfile(place)), None)


def _of_line(line: str, where: str, definition: Definition) -> Workload:
    content = parse(line, where)
    if isinstance(content, dict) and "workload" in content:
        named = content.get("definition")
        if named != definition.name:
            raise UsageError(f"{where}: a workload of {named!r}; the definition is '{definition.name}'")
        content = content["workload"]
    found = Workload.of(content, where)
    found.check(definition, where)
    return found
