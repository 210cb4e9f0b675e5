"""The worker's side: confine this process, import what it will need, then serve calls until the end.

A call names a function as `module:function`. The function gets the process's `state` first, then
the call's JSON parameters, and returns JSON. Whatever it raises becomes a reply. Started by
`process`; never imported by the parent.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any, TextIO, cast

from kernelwright.core.errors import full_text
from kernelwright.sandbox.confine import Layers, Parent, confine
from kernelwright.sandbox.frames import Channel, ChannelClosed, ProtocolError, decode, encode
from kernelwright.sandbox.limits import Limits
from kernelwright.sandbox.process import die_with_lifeline

_LONGEST_REQUEST = 1 << 30
_LONGEST_TEXT = 20_000
Function = Callable[..., Any]


def main(channel_fd: int, lifeline: int, parent_pid: int) -> None:
    """Serve the parent at the other end of `channel_fd`; ends when it closes its end."""
    die_with_lifeline(lifeline)
    for stream in (sys.stdout, sys.stderr):
        cast(TextIO, stream).reconfigure(line_buffering=True)  # type: ignore[attr-defined]
    faulthandler.enable()
    sock = socket.socket(fileno=channel_fd)
    sock.set_inheritable(False)
    channel = Channel(sock, _LONGEST_REQUEST)
    try:
        serve(channel, *begin(channel, Parent(parent_pid, lifeline)))
    except (ChannelClosed, ProtocolError):
        os.killpg(os.getpgrp(), signal.SIGKILL)  # what it started goes with it


def begin(channel: Channel, parent: Parent) -> tuple[dict[str, Any], int]:
    """Do what the setup frame asks and say which layers hold; returns the state and the reply's limit."""
    number, payload = channel.receive()
    setup = decode(payload)
    limits = _limits(setup["limits"])

    def prepare(state: dict[str, Any]) -> Layers:
        if setup["cpus"]:
            os.sched_setaffinity(0, setup["cpus"])
        layers = confine(limits, parent)
        for module in setup["preload"]:
            import_module(module)
        gc.collect()
        gc.freeze()  # what is imported stays; collections during calls need not look at it
        return layers

    state: dict[str, Any] = {}
    channel.send(number, _reply(prepare, state, {}, limits.reply_bytes))
    return state, limits.reply_bytes


def serve(channel: Channel, state: dict[str, Any], longest: int) -> None:
    """Answer calls one by one; ChannelClosed when the parent has gone."""
    known: dict[str, Function] = {}
    while True:
        number, payload = channel.receive()
        name, parameters = decode(payload)
        function = known.get(name) or _call_resolved(name, known)
        channel.send(number, _reply(function, state, parameters, longest))


def _reply(function: Function, state: dict[str, Any], parameters: dict[str, Any], longest: int) -> bytes:
    try:
        reply = encode({"ok": function(state, **parameters)})
        if len(reply) <= longest:
            return reply
        raise ValueError(f"the result is {len(reply)} bytes of JSON; at most {longest} are allowed")
    except BaseException as error:
        return encode({"error": _described(error)})


def _described(error: BaseException) -> dict[str, str]:
    text = "".join(traceback.format_exception(error))
    return {
        "type": type(error).__name__,
        "message": full_text(error)[:_LONGEST_TEXT],
        "traceback": text[-_LONGEST_TEXT:],
    }


def _call_resolved(name: str, known: dict[str, Function]) -> Function:
    """A function that finds `name`, remembers it and calls it, so that a failed import is a reply too."""

    def call(state: dict[str, Any], **parameters: Any) -> Any:
        module, _, attribute = name.partition(":")
        known[name] = getattr(import_module(module), attribute)
        return known[name](state, **parameters)

    return call


def _limits(fields: dict[str, Any]) -> Limits:
    lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    return Limits(**{**fields, **lists})
