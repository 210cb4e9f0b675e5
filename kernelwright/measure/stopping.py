"""When to stop sampling: declared rules, named in every measurement.

A rule is asked between blocks of rounds. It may stop early because the interval is narrow enough,
or because the kernel cannot reach the best one known (a *loser*). It never stops before
`min_rounds`, whatever time warm-up or preparation took: how many samples a kernel gets is not the
kernel's to decide. Stopping looks at the interval's *width*, not at which side of a border it
lies, because looking again and again until a border is crossed finds winners that do not exist;
only losers, who can claim nothing, are stopped by where their interval lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.core.errors import UsageError, did_you_mean
from kernelwright.measure.statistics import Ratio


@dataclass(frozen=True, slots=True)
class Rule:
    """Parameters of one stopping rule."""

    name: str
    min_rounds: int
    """Rounds of each process before any early stop."""
    max_rounds: int
    """Rounds of each process."""
    max_seconds: float
    """Sampling time of each process, once `min_rounds` are there."""
    half_width: float
    """Stop once the within-process interval is so narrow, as a share of the ratio."""
    block_rounds: int = 6
    """Rounds between two sentinels."""
    replicates: int = 1
    """Processes, each fresh."""
    warmup: int = 2
    """Untimed calls of each subject on each slot."""
    max_drift: float = 0.15
    """A block whose sentinels differ by more than this share is taken again."""
    max_discarded: int = 4
    """Blocks of each process that may be taken again; afterwards they are kept, and it is said."""

    def __post_init__(self) -> None:
        """Refuse rules that could end without samples."""
        if not 1 <= self.min_rounds <= self.max_rounds or self.block_rounds < 1 or self.replicates < 1:
            raise UsageError(
                f"stopping rule '{self.name}' has {self.min_rounds} to {self.max_rounds} rounds in blocks of "
                f"{self.block_rounds}, {self.replicates} replicates; give at least 1 of each, min <= max"
            )

    def reason(
        self, rounds: int, seconds: float, ratios: Sequence[Ratio], incumbent: float | None = None
    ) -> str | None:
        """Why sampling of this process ends now, or None to go on.

        `ratios` has one entry for each baseline; `incumbent` is the low end of the best known
        kernel's speed-up over the strongest baseline.
        """
        if rounds < self.min_rounds:
            return None
        if incumbent is not None and ratios and min(ratio.high for ratio in ratios) < incumbent:
            return "cannot reach the best known"
        if rounds >= self.max_rounds:
            return "rounds used up"
        if ratios and max(ratio.within for ratio in ratios) <= self.half_width:
            return "interval narrow enough"
        return "time used up" if seconds >= self.max_seconds else None

    def describe(self, reason: str, rounds: int) -> str:
        """Text for `Measurement.stopping`: the rule's parameters and what ended it."""
        return (
            f"{self.name}: {reason} after {rounds} rounds ({self.min_rounds} to {self.max_rounds}, "
            f"at most {self.max_seconds:g} s, half-width {self.half_width:.1%}, {self.replicates} "
            f"process{'es' if self.replicates > 1 else ''})"
        )


RULES: dict[str, Rule] = {
    "quick": Rule("quick", min_rounds=6, max_rounds=24, max_seconds=1.0, half_width=0.02),
    "full": Rule(
        "full", min_rounds=18, max_rounds=60, max_seconds=6.0, half_width=0.005, replicates=3, warmup=3
    ),
    "paranoid": Rule(
        "paranoid", min_rounds=30, max_rounds=120, max_seconds=15.0, half_width=0.003, replicates=5, warmup=3
    ),
}
"""One rule for each level of verification."""


def rule(name: str) -> Rule:
    """The rule called `name`; UsageError lists what is allowed."""
    if name not in RULES:
        raise UsageError(f"unknown stopping rule '{name}'; {did_you_mean(name, RULES)}")
    return RULES[name]
