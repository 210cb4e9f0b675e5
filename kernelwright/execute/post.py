"""`Post`: a socket pair by which descriptors go between the judge and one worker.

    post = Post(); Worker.start(..., pass_fds=(post.theirs,))
    post.send(descriptor); descriptor = post.receive()

The worker may send what it likes: only from the process that holds the truth is anything taken.
"""

from __future__ import annotations

import contextlib
import os
import socket
from array import array

from kernelwright.core.errors import EnvironmentFault

_PATIENCE_S = 20.0
_MOST = 8
"""Descriptors in one message."""


class Post:
    """Both ends are open here, so that a worker that is started again finds its own."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.settimeout(_PATIENCE_S)

    @property
    def theirs(self) -> int:
        """The worker's end: the number of a descriptor."""
        return self._theirs.fileno()

    def send(self, descriptor: int) -> None:
        """Give the worker a copy. OSError where its end does not take it."""
        self._drain()
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [descriptor]))
        self._ours.sendmsg([b"p"], [rights], socket.MSG_DONTWAIT)  # `send_fds` ignores its flags

    def receive(self) -> int:
        """The descriptor that a worker of ours sent; close it. EnvironmentFault if none came."""
        descriptors = _received(self._ours)
        if not descriptors:
            raise EnvironmentFault(
                "a worker gave no descriptor of its device memory; free file descriptors (ulimit -n)"
            )
        return descriptors[0]

    def close(self) -> None:
        """Close both ends."""
        self._ours.close()
        self._theirs.close()

    def _drain(self) -> None:
        """Take back what was sent to a process that no longer is, or that never took it."""
        with contextlib.suppress(BlockingIOError):
            while descriptors := _received(self._theirs, socket.MSG_DONTWAIT):
                for each in descriptors:
                    os.close(each)


def _received(end: socket.socket, flags: int = 0) -> list[int]:
    """Descriptors of the next message (`socket.recv_fds` ignores its flags)."""
    found = array("i")
    _, rights, _, _ = end.recvmsg(1, socket.CMSG_LEN(_MOST * found.itemsize), flags)
    for level, kind, data in rights:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return list(found)
