"""What a person may do with the kernel that a search found: use it only where something was shown.

A kernel that was not judged in full, or that is not shown to be faster, is kept and named, not offered.
"""

from __future__ import annotations

from typing import Any

_AS_FAST = {
    "level": "as fast as the strongest, not faster",
    "at_floor": "nothing is left to gain on this machine",
}


def over_strongest(best: dict[str, Any]) -> str:
    """The factor with its interval; no bare factor, and none where it is not resolved."""
    name = f"({best.get('strongest') or 'nothing was beside it'})"
    ratio, ci = best["speedup"].get("strongest"), best.get("speedup_ci", {}).get("strongest")
    if ratio is None or not ci:
        return f"not compared  {name}"
    interval = f"{ci[0]:.2f}x to {ci[1]:.2f}x"
    if best["status"] in ("unresolved", "degenerate"):
        return f"{best['status']}, {interval}  {name}"
    return f"{ratio:.2f}x, {interval}  {name}"


def offered(best: dict[str, Any]) -> tuple[str, str]:
    """A label and what it says: how to use the kernel, or why not."""
    trial, status = best["trial"], best["status"]
    use = f'kernelwright.load("{trial}", module)'
    if best.get("level") == "quick":
        return "not judged in full", f"kept as {trial}; the same command again tries it first and judges it"
    if status == "won":
        return "use it", use
    if status in _AS_FAST:
        return "use it", f"{use}  ({_AS_FAST[status]})"
    return "nothing faster", f"was shown; the kernel is kept as {trial}"
