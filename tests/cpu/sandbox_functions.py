"""Functions that the sandbox tests run inside workers: honest, clumsy and hostile ones."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

State = dict[str, Any]
_KEEP: list[Any] = []


def echo(state: State, **parameters: Any) -> Any:
    return parameters


def count(state: State) -> int:
    state["count"] = state.get("count", 0) + 1
    return int(state["count"])


def fail(state: State, message: str) -> None:
    raise ValueError(message)


def not_json(state: State) -> Any:
    return {1, 2}


def leave(state: State) -> None:
    sys.exit(5)


def exit_at_once(state: State, code: int) -> None:
    print("about to leave")
    os._exit(code)


def segfault(state: State) -> int:
    return len(ctypes.string_at(8))


def abort(state: State) -> None:
    os.abort()


def loop(state: State) -> None:
    while True:
        pass


def hang_in_c(state: State) -> None:
    """Holds the interpreter's lock in C, so no Python code of the worker can help."""
    ctypes.PyDLL(None).pause()


def allocate(state: State, size: int) -> int:
    block = bytearray(size)
    return len(block)


def allocate_shared(state: State, size: int) -> int:
    return len(mmap.mmap(-1, size))


def fork_many(state: State, most: int) -> int:
    """Forks sleeping children until refused; how many there were."""
    for made in range(most):
        try:
            child = os.fork()
        except OSError:
            return made
        if child == 0:
            time.sleep(60)
            os._exit(0)
    return most


def fork_bomb(state: State) -> None:
    while True:
        with contextlib.suppress(OSError):
            os.fork()


def start_sleeper(state: State, new_session: bool) -> int:
    return subprocess.Popen(["sleep", "300"], start_new_session=new_session).pid


def group(state: State, pid: int) -> int:
    return os.getpgid(pid)


def print_much(state: State, size: int) -> None:
    line = "x" * 999 + "\n"
    for _ in range(size // len(line)):
        sys.stdout.write(line)
    sys.stdout.flush()
    print("the last line")


def big_reply(state: State, size: int) -> str:
    return "x" * size


def forge(state: State, payload: str, number: int | None, length: int | None) -> None:
    """Writes a frame of its own to every socket that the process holds."""
    data = payload.encode()
    frame = (
        struct.pack("<II", len(data) if length is None else length, 1 if number is None else number) + data
    )
    for handle in _sockets():
        os.write(handle, frame)
    time.sleep(30)


def forge_raw(state: State, data: str) -> None:
    for handle in _sockets():
        os.write(handle, bytes.fromhex(data))
    time.sleep(30)


def forge_twice(state: State) -> str:
    frame = b'{"ok": 666}'
    for handle in _sockets():
        os.write(handle, (struct.pack("<II", len(frame), 1) + frame) * 2)
    return "honest"


def close_everything(state: State) -> None:
    os.closerange(3, 200)
    time.sleep(30)


def cut_the_lifeline(state: State) -> None:
    """Tries all it can with each pipe that it holds, then hangs where only a signal reaches it."""
    spare = os.open("/dev/null", os.O_RDONLY)
    for handle in range(3, 64):
        with contextlib.suppress(OSError):
            if not os.readlink(f"/proc/self/fd/{handle}").startswith("pipe:"):
                continue
            fcntl.fcntl(handle, fcntl.F_SETFL, 0)
            fcntl.fcntl(handle, fcntl.F_SETOWN, 0)
            os.dup2(spare, handle)
    os.closerange(3, 64)
    ctypes.PyDLL(None).pause()


def dribble(state: State) -> None:
    """Announces a long frame and sends one byte of it now and then."""
    for handle in _sockets():
        os.write(handle, struct.pack("<II", 10_000, 1))
        while True:
            os.write(handle, b" ")
            time.sleep(0.05)


def _sockets() -> list[int]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                found.append(int(name))
        except OSError:
            continue
    return found


def spin_in_background(state: State) -> None:
    state["ticks"] = 0

    def tick() -> None:
        while True:
            state["ticks"] += 1
            time.sleep(0.001)

    threading.Thread(target=tick, daemon=True).start()


def ticks(state: State) -> int:
    return int(state["ticks"])


def own_buffer(state: State, text: str) -> tuple[int, int]:
    """Address and length of a buffer with this text in it."""
    block = ctypes.create_string_buffer(text.encode())
    _KEEP.append(block)
    return ctypes.addressof(block), len(text)


def hide_memory(state: State) -> int:
    return int(ctypes.CDLL(None).prctl(4, 0, 0, 0, 0))


def attempt_read_memory(state: State, pid: int, address: int) -> int:
    """Bytes that this process could read of another's memory: -1 if refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    block = ctypes.create_string_buffer(8)

    class Vector(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    here, there = Vector(ctypes.addressof(block), 8), Vector(address, 8)
    return int(libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0))


def attempt(state: State, what: str, argument: Any = None) -> str:
    """Try something that is to be refused: `done`, or the name of the error."""
    try:
        _ATTEMPTS[what](argument)
    except OSError as error:
        return type(error).__name__
    return "done"


def _write(path: str) -> None:
    Path(path).write_text("mine")


def _unshare(_: Any) -> None:
    if ctypes.CDLL(None).unshare(0x10000000) != 0:
        raise PermissionError


def _listen_socket(path: str) -> None:
    socket.socket(socket.AF_UNIX).connect(path)


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair()


def _limit_of(pid: int) -> None:
    import resource

    resource.prlimit(pid, resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))


_ATTEMPTS = {
    "write": _write,
    "read": lambda path: Path(path).read_text(),
    "internet": lambda _: socket.socket(socket.AF_INET),
    "connect": _listen_socket,
    "signal": lambda pid: os.kill(pid, 0),
    "signal by a file": lambda pid: fcntl.fcntl(0, fcntl.F_SETOWN, pid),
    "signal by a file of a thread": lambda pid: fcntl.fcntl(0, 15, struct.pack("ii", 1, pid)),
    "signal by a socket": lambda pid: fcntl.ioctl(_pair()[0], 0x8901, struct.pack("i", pid)),
    "open_memory": lambda pid: os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR)),
    "unshare": _unshare,
    "limits": _limit_of,
    "fork": lambda _: os.fork() or os._exit(0),
    "run": lambda _: subprocess.run(["true"], check=True),
}


def scratch(state: State) -> str:
    handle, path = tempfile.mkstemp()
    os.write(handle, b"left behind")
    return path


def shell_writes_scratch(state: State) -> str:
    """What a program sees of TMPDIR and HOME, written and read by it."""
    script = 'echo written > "$(mktemp)" && cat "$HOME"/tmp.*'
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True).stdout.strip()


def affinity_after_asking(state: State, cpus: list[int]) -> list[int]:
    os.sched_setaffinity(0, cpus)
    return sorted(os.sched_getaffinity(0))


def environment(state: State) -> dict[str, str]:
    return dict(os.environ)


def write_shared(state: State, handle: int, size: int, text: str) -> None:
    with mmap.mmap(handle, size) as shared:
        shared[: len(text)] = text.encode()


def torch_product(state: State, threads: int) -> float:
    import torch

    torch.set_num_threads(threads)
    a = torch.ones(256, 256)
    return float((a @ a).sum())
