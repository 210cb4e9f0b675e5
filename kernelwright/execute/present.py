"""Whether the device of a target is there, asked before work begins that would end without it.

Not covered: whether it is idle, or has memory enough.
"""

from __future__ import annotations

from kernelwright.core.errors import EnvironmentFault
from kernelwright.core.target import Target


def require_device(target: Target) -> None:
    """EnvironmentFault where torch finds no device of this kind. Makes no context on a GPU."""
    if target.name == "cpu":
        return
    import torch

    if not torch.cuda.is_available():
        why = (
            "this torch is built without CUDA" if torch.version.cuda is None else "torch finds no CUDA device"
        )
        raise EnvironmentFault(
            f"target '{target.name}' cannot be used here: {why}; "
            "use --target cpu, or run on a machine with a GPU (`kernelwright doctor` says what there is)"
        )
