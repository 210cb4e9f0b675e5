"""A client that a test may kill at any moment: asks for kernels, then for their verdicts.

python service_client.py URL FIRST LAST     prints a verdict's ticket a line
"""

from __future__ import annotations

import sys

from service_cases import PROBLEM, source

from kernelwright.service.client import Client

if __name__ == "__main__":
    url, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    client = Client(url)
    tickets = [
        client.submit(PROBLEM, source(f"shared{number}", "sleep 0.02"), wait_s=60).ticket or ""
        for number in range(first, last)
    ]
    for ticket in tickets:
        assert client.result(ticket, wait_s=60).state == "done"
        print(ticket, flush=True)
