"""`text_module`: an empty module for a source that is a text, whose lines tracebacks can show."""

from __future__ import annotations

import linecache
import sys
from types import ModuleType


def text_module(name: str, text: str, file: str) -> ModuleType:
    """A module called `name` that says it comes from `file`; the caller runs the text in it."""
    module = ModuleType(name)
    module.__file__ = file
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    sys.modules[name] = module
    return module
