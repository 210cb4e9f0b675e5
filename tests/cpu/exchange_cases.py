"""Definitions, workloads, solutions and traces of other projects' formats, small enough to run."""

from __future__ import annotations

import copy
import json
import struct
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

REFERENCE = """import torch


def run(x, weight, scale):
    return torch.relu(x) * weight * scale
"""
DEFINITION: dict[str, Any] = {
    "name": "relu_scale",
    "op_type": "pointwise",
    "axes": {
        "rows": {"type": "var", "description": "Rows"},
        "columns": {"type": "const", "value": 64},
        "half": {"type": "expr", "expression": "columns / 2"},
    },
    "constraints": ["rows >= 1"],
    "inputs": {
        "x": {"shape": ["rows", "columns"], "dtype": "float32"},
        "weight": {"shape": ["columns"], "dtype": "float32"},
        "scale": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["rows", "columns"], "dtype": "float32"}},
    "reference": REFERENCE,
}
WORKLOAD: dict[str, Any] = {
    "uuid": "w-1",
    "axes": {"rows": 96},
    "inputs": {
        "x": {"type": "random"},
        "weight": {"type": "random"},
        "scale": {"type": "scalar", "value": 2.5},
    },
    "tolerance": {"max_atol": 0.01},
}
RETURNS = (
    "import torch\n\n\ndef run(x, weight, scale):\n    return torch.clamp_min(x, 0) * (weight * scale)\n"
)
WRITES = (
    "import torch\n\n\ndef run(x, weight, scale, y):\n    torch.mul(torch.relu(x), weight * scale, out=y)\n"
)
SOLUTION: dict[str, Any] = {
    "name": "relu_scale_returns",
    "definition": "relu_scale",
    "author": "somebody",
    "spec": {
        "languages": ["pytorch"],
        "target_hardware": ["LOCAL"],
        "entry_point": "kernel.py::run",
        "dependencies": ["torch"],
        "destination_passing_style": False,
    },
    "sources": [{"path": "kernel.py", "content": RETURNS}],
}
TRACE: dict[str, Any] = {
    "definition": "relu_scale",
    "workload": WORKLOAD,
    "solution": "relu_scale_returns",
    "evaluation": {
        "status": "PASSED",
        "environment": {"hardware": "a processor", "libs": {"torch": "2.13.0"}},
        "timestamp": "2026-01-01T00:00:00+00:00",
        "log": "",
        "correctness": {"max_relative_error": 0.0, "max_absolute_error": 1e-07, "extra": None},
        "performance": {"latency_ms": 0.25, "reference_latency_ms": 1, "speedup_factor": 4.0},
    },
}
NAMES = st.text(alphabet="abcdefghij_é☃\"'<&", min_size=1, max_size=6).map(lambda name: f"extra_{name}")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def objects(value: Any) -> list[dict[str, Any]]:
    """Every JSON object in a value, itself first."""
    found = [value] if isinstance(value, dict) else []
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found += objects(inner)
    return found


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value below the top."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in [(*path, key), *places(inner, (*path, key))]]


@st.composite
def with_unknown_fields(draw: st.DrawFn, content: dict[str, Any]) -> dict[str, Any]:
    """The content with fields that no format has, at any depth where fields have fixed names."""
    made = copy.deepcopy(content)
    named = {"axes", "inputs", "outputs"}
    free = [made[name] for name in named & made.keys()]
    free += [made["workload"][name] for name in named & made.get("workload", {}).keys()]
    fixed = [each for each in objects(made) if not any(each is other for other in free)]
    for each in draw(st.lists(st.sampled_from(range(len(fixed))), max_size=4)):
        fixed[each][draw(NAMES)] = draw(VALUES)
    return made


@st.composite
def damaged(draw: st.DrawFn, content: dict[str, Any]) -> dict[str, Any]:
    """The content with some values replaced by anything, or gone."""
    made = copy.deepcopy(content)
    for _ in range(draw(st.integers(1, 2))):
        *path, key = draw(st.sampled_from(places(made)))
        holder = made
        for step in path:
            holder = holder[step]
        if draw(st.booleans()):
            holder[key] = draw(VALUES)
        else:
            del holder[key]
        if not made:
            break
    return made


def write_json(path: Path, content: Any) -> Path:
    """A JSON file; a list becomes JSON lines."""
    lines = content if isinstance(content, list) else [content]
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    return path


def safetensors_bytes(tensors: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    """A safetensors file of (type, shape, bytes) by name."""
    header, at = {}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps({"__metadata__": {"a": "b"}, **header}).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values())
