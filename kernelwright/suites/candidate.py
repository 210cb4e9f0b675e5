"""`Candidate`: a published kernel beside the reference that it claims to compute."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Candidate:
    """One kernel to be judged."""

    name: str
    reference: str
    """A problem source, as `load_problem` takes it, or the path of a definition."""
    kernel: Path
    fault: str = ""
    """Why it cannot be judged, if that is known already."""
    workload: str = ""
    """For a definition: uuid of the workload to judge at."""
