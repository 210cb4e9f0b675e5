"""A verdict service with a scripted desk, in a process of its own that a test may kill.

python service_server.py FOLDER     prints its URL
"""

from __future__ import annotations

import sys

from kernelwright.service.serve import serve
from kernelwright.service.service import VerdictService
from kernelwright.service.settings import Settings

if __name__ == "__main__":
    folder = sys.argv[1]
    settings = Settings(
        store=f"jsonl://{folder}/store.jsonl",
        journal=f"{folder}/journal.jsonl",
        desk="service_desks:ScriptedDesk",
        capacity=40,
        strikes=2,
    )
    with VerdictService.start(settings) as service:
        serve(service, "127.0.0.1", 0, None, lambda url: print(url, flush=True))
