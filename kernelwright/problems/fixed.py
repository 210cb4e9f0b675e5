"""Arguments that are no tensors: what of them a problem holds, and whether a call gives the same.

A kernel has them built in, so a call with another one is not the kernel's. Numbers, strings and None are
held as they are, types and the like by name. What else there is (an object with a state, an iterator) is
not held: nobody could tell whether it is the same the next time.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import torch

from kernelwright.core.problem import ScalarSpec

Written = tuple[int | float | bool | None, str | None]
"""`value` and `text` of a `ScalarSpec`."""
_BY_NAME = (
    torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size,
    complex, bytes, range, slice, Enum,
)  # fmt: skip
ALLOWED = "tensors, numbers, strings, None, and lists, tuples and dicts of them"


def written(argument: Any) -> Written | None:
    """How a problem holds an argument; None where it cannot."""
    match argument:
        case None | bool():
            return argument, None
        case str():
            return None, str(argument)
        case _ if isinstance(argument, _BY_NAME):
            return None, f"{type(argument).__name__} {argument!r}"
        case int():
            return int(argument), None
        case float():
            return float(argument), None
    return None


def is_same(spec: ScalarSpec, argument: Any) -> bool:
    """Whether an argument is the one that a problem holds; 2 is not 2.0, and -0.0 is not 0.0."""
    found = written(argument)
    return found is not None and found[1] == spec.text and repr(found[0]) == repr(spec.value)
