"""Environment of the tests' own process, set before torch is imported: idle threads sleep.

By default OpenMP's threads spin for a while after each parallel region, on the cores that the other
tests and their workers run on.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
