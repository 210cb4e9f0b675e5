"""The command line with eager as its only baseline and short measurements, for tests that start it often."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

from kernelwright.cli.main import main
from kernelwright.measure.baselines import BASELINES
from kernelwright.measure.stopping import RULES, Rule


def shorten(setitem: Callable[[Any, Any, Any], object] = operator.setitem) -> None:
    """Fewer baselines and rounds; what is checked, and how a command ends, stays as it is."""
    setitem(BASELINES, "cpu", ("eager",))
    for name in ("quick", "full"):
        setitem(RULES, name, Rule(name, min_rounds=6, max_rounds=6, max_seconds=0.5, half_width=0.2))


if __name__ == "__main__":
    shorten()
    main(sys.argv[1:])
