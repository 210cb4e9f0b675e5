"""Problems of this pack for the optimizer, in KernelBench form: files that `load_problem` takes.

They state the textbook formulas in torch, float64, on a book of options near the money as a desk reprices it.
Not covered: implied volatility, whose iteration has no form that a capture takes.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
FILES = (FOLDER / "price.py", FOLDER / "greeks.py")
