"""The command `serve-verdicts` with a scripted desk, in a process of its own that a test may kill.

python service_server.py FOLDER
"""

from __future__ import annotations

import sys
from functools import partial

from kernelwright.cli import main
from kernelwright.service import settings

if __name__ == "__main__":
    folder = sys.argv[1]
    scripted = partial(settings.Settings, desk="service_desks:ScriptedDesk", strikes=2)
    settings.Settings = scripted  # type: ignore[assignment, misc]
    store, journal = f"jsonl://{folder}/store.jsonl", f"{folder}/journal.jsonl"
    main(["serve-verdicts", "--port", "0", "--capacity", "40", "--store", store, "--journal", journal])
