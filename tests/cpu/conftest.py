"""How long an example of hypothesis takes is the machine's affair: none has a deadline."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("kernelwright", deadline=None)
settings.load_profile("kernelwright")
