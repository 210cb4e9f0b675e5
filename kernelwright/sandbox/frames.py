"""Frames on a stream socket: 4 bytes of length, 4 bytes of call number, then that many bytes of JSON.

Used by both ends. The receiving end never believes what it reads: a frame that is too long, that
belongs to another call, or that is followed by more bytes is a `ProtocolError`. What the JSON
means is `worker`'s and `main`'s concern.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any

_HEADER = struct.Struct("<II")
_CHUNK = 1 << 16
SETUP = 0
"""Call number of the first exchange, in which the worker is told its limits."""


class ProtocolError(Exception):
    """The other end sent something that is not the frame that was due."""


class ChannelClosed(Exception):
    """The other end has closed the socket."""


class Channel:
    """One end of the socket pair. One frame is under way at a time."""

    def __init__(self, sock: socket.socket, longest: int) -> None:
        self._sock = sock
        self._longest = longest

    def send(self, number: int, payload: bytes, timeout_s: float | None = None) -> None:
        """Send one frame; TimeoutError, ChannelClosed."""
        try:
            self._sock.settimeout(timeout_s)
            self._sock.sendall(_HEADER.pack(len(payload), number) + payload)
        except TimeoutError:
            raise
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> tuple[int, bytes]:
        """Number and payload of the next frame; TimeoutError, ChannelClosed, ProtocolError.

        The limit is on the whole frame: a sender that dribbles cannot stretch it.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        data = self._some(_CHUNK, timeout_s)
        while len(data) < _HEADER.size:
            data += self._some(_CHUNK, _left(deadline))
        length, number = _HEADER.unpack_from(data)
        if length > self._longest:
            raise ProtocolError(f"a frame of {length} bytes; at most {self._longest} are allowed")
        missing = _HEADER.size + length - len(data)
        if missing > 0:
            return number, self._rest(data[_HEADER.size :], length, deadline)
        if missing < 0:
            raise ProtocolError(f"{-missing} bytes more than its frame")
        return number, data[_HEADER.size :]

    def close(self) -> None:
        """Close this end."""
        self._sock.close()

    def _rest(self, start: bytes, length: int, deadline: float | None) -> bytes:
        payload = bytearray(start)
        while len(payload) < length:
            payload += self._some(min(length - len(payload), 1 << 20), _left(deadline))
        return bytes(payload)

    def _some(self, most: int, timeout_s: float | None) -> bytes:
        try:
            self._sock.settimeout(timeout_s)
            data = self._sock.recv(most)
        except TimeoutError:
            raise
        except OSError as error:
            raise ChannelClosed(str(error)) from error
        if not data:
            raise ChannelClosed("end of stream")
        return data


def encode(value: Any) -> bytes:
    """JSON bytes; TypeError or ValueError where the value has none."""
    return json.dumps(value).encode()


def decode(payload: bytes) -> Any:
    """The value of untrusted JSON bytes; ProtocolError where they are not JSON."""
    try:
        return json.loads(payload)
    except (ValueError, RecursionError, MemoryError) as error:
        raise ProtocolError(f"{len(payload)} bytes that are not JSON: {type(error).__name__}") from error


def _left(deadline: float | None) -> float | None:
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
