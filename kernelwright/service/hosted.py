"""`Hosted`: any object in a process of its own, an actor of Ray's, made there from the path of its class.

Whoever begins such a process need not import what runs in it: the coordinator stays without torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Hosted:
    """Makes an object of the class at `path` (`module:name`), and passes calls on to it."""

    def __init__(self, path: str, *arguments: Any) -> None:
        module, _, name = path.partition(":")
        self._object = getattr(import_module(module), name)(*arguments)

    def call(self, method: str, *arguments: Any) -> Any:
        """What the object's method returns."""
        return getattr(self._object, method)(*arguments)
