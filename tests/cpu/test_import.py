"""Importing the package, and asking for help, stays light."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("torch", "triton", "sqlalchemy", "fastapi", "numpy")


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_import_loads_nothing_heavy() -> None:
    assert modules_after("import kernelwright") & set(HEAVY) == set()


def test_command_line_loads_nothing_heavy() -> None:
    loaded = modules_after(
        "from click.testing import CliRunner\nfrom kernelwright.cli import root\n"
        "CliRunner().invoke(root, ['--help'])"
    )
    assert loaded & set(HEAVY) == set()


def test_public_names_are_importable() -> None:
    import kernelwright

    for name in kernelwright.__all__:
        assert getattr(kernelwright, name) is not None
