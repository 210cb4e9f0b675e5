"""A whole model by name, as a command line gives it: `pkg.module:factory`, and its batches."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from torch import nn

from kernelwright.core.errors import ProblemError, UsageError, boundary
from kernelwright.problems.module import attribute


def opened(source: str, inputs: str | None) -> tuple[nn.Module, list[Any]]:
    """A model of one's own in eval mode, and a list of batches.

    `source` names a model, its class, or a function that makes it; `inputs` a batch, a list of batches, or a
    function that makes either. UsageError for anything else.
    """
    if ":" not in source:
        raise UsageError(
            f"'{source}' is given; a whole model is given as module:attribute, which is a model or makes one"
        )
    if inputs is None or ":" not in inputs:
        raise UsageError(f"batches of the form module:attribute are needed (--inputs); given: {inputs!r}")
    root = str(Path.cwd())
    found = attribute(source, root)
    with boundary(ProblemError, f"the model {source} cannot be made"):
        model = copy.deepcopy(found) if isinstance(found, nn.Module) else found()
    if not isinstance(model, nn.Module):
        raise UsageError(f"{source} gives a {type(model).__name__}; name a model, or what makes one")
    held = attribute(inputs, root)
    with boundary(ProblemError, f"the batches {inputs} cannot be made"):
        batches = held() if callable(held) else held
    return model.eval(), batches if isinstance(batches, list) else [batches]
