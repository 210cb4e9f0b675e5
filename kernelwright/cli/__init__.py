"""The command line: one file per command, loaded when it is used. It holds no logic."""

from kernelwright.cli.main import main, root

__all__ = ["main", "root"]
