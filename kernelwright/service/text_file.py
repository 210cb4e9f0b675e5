"""`text_of`: the text of a source file that a user names, as a request carries it."""

from __future__ import annotations

from pathlib import Path

from kernelwright.core.errors import UsageError, first_line
from kernelwright.core.file import read_file
from kernelwright.service.request import MAX_TEXT


def text_of(path: Path) -> str:
    """The whole of a file; UsageError, one line, if it cannot be read as text of at most `MAX_TEXT` bytes."""
    try:
        return read_file(path, MAX_TEXT).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
        raise UsageError(f"'{path}' cannot be read as text: {why}; give the path of a source file") from error
