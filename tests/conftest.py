"""Environment of the tests' own process, set before torch is imported.

Idle threads sleep: by default OpenMP's threads spin for a while after each parallel region, on the cores
that the other tests and their workers run on. And hanging up is what it is on a terminal, also where the
tests were started by something that ignores it.
"""

from __future__ import annotations

import os
import signal

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
signal.signal(signal.SIGHUP, signal.SIG_DFL)
