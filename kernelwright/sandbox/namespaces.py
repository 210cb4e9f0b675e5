"""Namespaces: no network, no capabilities, and a private temporary directory in memory.

One `unshare` without privileges: a user namespace with the worker's own user in it, an IPC and a
mount namespace, and without `network` an empty network namespace. `/dev/shm` becomes a private
tmpfs, bounded, gone with its last process: nothing can be left behind. No PID namespace: it would
need a second process per worker, and the parent could no longer read the worker's memory by the
process id that the worker knows itself by. The process group does that job (see `seccomp`).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kernelwright.sandbox import kernel_calls as kernel

SCRATCH = "/dev/shm"


def enter(*, network: bool, scratch_bytes: int) -> None:
    """Move this process, which must have one thread, into its namespaces. OSError if refused."""
    user, group = os.geteuid(), os.getegid()
    flags = kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
    kernel.unshare(flags | (0 if network else kernel.CLONE_NEWNET))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _private_scratch(scratch_bytes)
    kernel.drop_capabilities()


def _private_scratch(size: int) -> None:
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("scratch", SCRATCH, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, f"size={size},mode=700")
    os.environ |= {"TMPDIR": SCRATCH, "HOME": SCRATCH}  # compilers keep their caches under HOME
    tempfile.tempdir = None
