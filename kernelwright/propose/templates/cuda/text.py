"""Text around loops: structures of states, results read from them, unused declarations, indentation."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernelwright.propose.templates.cuda.emit import ctype_of
from kernelwright.propose.templates.cuda.folds import Fold, Schedule

_DECLARED = re.compile(r"^const [a-z ]+ (\w+) = ")


def struct_text(entry: str, number: int, folds: list[Fold]) -> str:
    """The structure of all states of one pass."""
    name = f"{entry}_pass{number}"
    fields = "\n".join(f"  {fold.state} {fold.field};" for fold in folds)
    clears = " ".join(f"{fold.field}.clear();" for fold in folds)
    merges = " ".join(f"{fold.field}.merge(other.{fold.field});" for fold in folds)
    return (
        f"struct {name} {{\n{fields}\n"
        f"  __device__ __forceinline__ void clear() {{ {clears} }}\n"
        f"  __device__ __forceinline__ void merge(const {name}& other) {{ {merges} }}\n}};\n"
    )


def struct_bytes(folds: list[Fold]) -> int:
    """Size of that structure: fields of 4 or 8 bytes, at their alignment."""
    if any("double" in fold.state or "long long" in fold.state for fold in folds):
        return sum(-(-fold.state_bytes // 8) * 8 for fold in folds)
    return sum(fold.state_bytes for fold in folds)


def result_lines(schedule: Schedule, number: int, part: str) -> list[str]:
    """Variables of the reductions of one pass, read from its merged state."""
    return [
        f"const {ctype_of(schedule.region, at)} n{at} = {part}.{fold.field}.{member};"
        for fold in schedule.passes[number - 1]
        for at, member in fold.results
    ]


def clamped(share: int, total: int) -> str:
    """End of a part that begins at `begin` and takes `share` of `total`."""
    return f"begin + {share} < {total} ? begin + {share} : {total}"


def whole_warps(vectors: int) -> int:
    """A share rounded up so that every other one begins at a multiple of a warp's access."""
    return -(-vectors // 32) * 32


def used(declarations: list[str], body: list[str]) -> list[str]:
    """Those of `declarations` (in order, one variable each) that `body` or a later one refers to."""
    text = "\n".join(body)
    kept: list[str] = []
    for line in reversed(declarations):
        declared = _DECLARED.match(line)
        if declared is None or re.search(rf"(?<!\.)\b{declared[1]}\b", text):
            kept.append(line)
            text += "\n" + line.partition("=")[2]
    return kept[::-1]


def indented(lines: Iterable[str]) -> str:
    """Lines joined, each indented by the braces before it."""
    out: list[str] = []
    depth = 0
    for line in "\n".join(lines).split("\n"):
        text = line.strip()
        depth -= text.startswith("}")
        out.append(text if text.startswith("#") else "  " * max(depth, 0) + text)
        depth += text.count("{") - text.count("}") + text.startswith("}")
    return "\n".join(out) + "\n"
