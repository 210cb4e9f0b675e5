"""The system-call filter: what a contained worker is refused, as a classic BPF program.

A list of refusals, not of permissions: torch, OpenMP, the CUDA driver and compilers use whatever
they like, and what a numeric kernel has no business with is refused. Refused are tracing and
reading of other processes, kernel administration, new namespaces, io_uring (which would pass by the
filter), signals and limits for others, and connections while the network is off.

Three calls *pretend* to succeed, because refusing them would break honest code while allowing them
would break the judge: `setsid` and `setpgid` (the worker stays in one process group, so one signal
ends it with all its descendants) and `sched_setaffinity` (it stays on the cores it was given).

Not covered: arguments behind pointers, which a filter cannot read (a datagram's address, say).
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from dataclasses import dataclass

from kernelwright.sandbox import kernel_calls, syscall_table

ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
PRETEND = _ERRNO
REFUSE = _ERRNO | errno.EPERM
ABSENT = _ERRNO | errno.ENOSYS

_SET_FILTER = 1
_SPECULATION_AS_BEFORE = 1 << 2  # else older kernels slow the worker's code, and timings with it
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_X32_CALLS = 0x40000000
_NEW_NAMESPACES = 0x7E020080
_CLONE_THREAD = 0x00010000
_NEGATIVE = 0x80000000
_OWNING_FCNTLS = (8, 15)  # F_SETOWN, F_SETOWN_EX
_OWNING_IOCTLS = (0x8901, 0x8902)  # FIOSETOWN, SIOCSPGRP

_REFUSED = (
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp",
    "migrate_pages", "userfaultfd", "kexec_load", "kexec_file_load", "init_module", "finit_module",
    "delete_module", "bpf", "perf_event_open", "keyctl", "add_key", "request_key", "mount", "umount2",
    "pivot_root", "chroot", "setns", "unshare", "move_mount", "open_tree", "fsopen", "fsmount", "fspick",
    "fsconfig", "mount_setattr", "swapon", "swapoff", "reboot", "settimeofday", "clock_settime",
    "clock_adjtime", "adjtimex", "acct", "quotactl", "quotactl_fd", "open_by_handle_at", "iopl", "ioperm",
    "syslog", "vhangup", "fanotify_init", "memfd_secret", "sched_setscheduler", "sched_setparam",
    "sched_setattr", "setpriority", "ioprio_set", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
    "pidfd_send_signal", "pidfd_getfd",
)  # fmt: skip
_ABSENT = ("clone3", "io_uring_setup")  # clone3 hides its flags behind a pointer; libc then uses clone
_PRETENDED = ("setsid", "setpgid", "sched_setaffinity")


@dataclass(frozen=True, slots=True)
class Test:
    """If the argument equals `value` (or, with `bits`, shares a bit with it), the answer is `action`."""

    value: int
    action: int
    bits: bool = False
    arg: int | None = None
    """Number of the argument, if it is another than the rule's."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of one call: the first test on argument number `arg` that holds, else `otherwise`."""

    call: str
    otherwise: int
    arg: int = 0
    tests: tuple[Test, ...] = ()


def rules(*, network: bool, threads_only: bool, own_pid: int, parent_pid: int, lifeline: int) -> list[Rule]:
    """The filter as data, for one worker."""
    found = _lifeline_rules(lifeline)
    found += [Rule(call, REFUSE) for call in _REFUSED]
    found += [Rule(call, ABSENT) for call in _ABSENT]
    found += [Rule(call, PRETEND) for call in _PRETENDED]
    found += [
        Rule("prlimit64", REFUSE, 0, (Test(0, ALLOW), Test(own_pid, ALLOW))),
        Rule("prctl", ALLOW, 0, (Test(kernel_calls.PR_SET_DUMPABLE, REFUSE),)),  # the parent reads its memory
    ]
    found += _process_rules(threads_only) + _signal_rules(threads_only, own_pid, parent_pid)
    if not network:
        found += [Rule("socket", REFUSE, 0, (Test(socket.AF_UNIX, ALLOW),)), Rule("connect", REFUSE)]
    return found


def program(filter_rules: list[Rule]) -> bytes:
    """The rules as BPF instructions, for this machine's architecture."""
    arch = syscall_table.audit_arch() or 0
    code = [_op(_LOAD, 4), _op(_EQUAL, arch, 1, 0), _op(_RETURN, REFUSE), _op(_LOAD, 0)]
    if arch == 0xC000003E:
        code += [_op(_AT_LEAST, _X32_CALLS, 0, 1), _op(_RETURN, ABSENT)]
    for rule in filter_rules:
        number = syscall_table.number(rule.call)
        if number is not None:
            block = _block(rule)
            code += [_op(_EQUAL, number, 0, len(block)), *block]
    return b"".join([*code, _op(_RETURN, ALLOW)])


def restrict(filter_rules: list[Rule]) -> None:
    """Install the filter for this thread and all that it starts. Needs NO_NEW_PRIVS. OSError if refused."""
    seccomp = syscall_table.number("seccomp")
    if syscall_table.audit_arch() is None or seccomp is None:
        raise OSError(errno.ENOSYS, f"no filter is written for {os.uname().machine}")
    code = program(filter_rules)
    instructions = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(code) // 8, ctypes.addressof(instructions))
    filter_program = ctypes.create_string_buffer(header, len(header))
    kernel_calls.syscall(seccomp, _SET_FILTER, _SPECULATION_AS_BEFORE, filter_program)


def _lifeline_rules(lifeline: int) -> list[Rule]:
    """Nothing closes, replaces or alters the descriptor that ends the worker with its parent.

    Nor does a file of the worker's own get an owner: the kernel would send it any signal that was asked for.
    """
    kept = (Test(lifeline, PRETEND),)
    return [
        Rule("close", ALLOW, 0, kept),
        Rule("ioctl", ALLOW, 0, (*kept, *(Test(each, REFUSE, arg=1) for each in _OWNING_IOCTLS))),
        Rule("fcntl", ALLOW, 0, (*kept, *(Test(each, REFUSE, arg=1) for each in _OWNING_FCNTLS))),
        Rule("dup2", ALLOW, 1, (Test(lifeline, REFUSE),)),
        Rule("dup3", ALLOW, 1, (Test(lifeline, REFUSE),)),
        Rule("close_range", ABSENT),
    ]


def _process_rules(threads_only: bool) -> list[Rule]:
    namespaces = Test(_NEW_NAMESPACES, REFUSE, bits=True)
    if not threads_only:
        return [Rule("clone", ALLOW, 0, (namespaces,))]
    thread = Test(_CLONE_THREAD, ALLOW, bits=True)
    return [Rule("clone", REFUSE, 0, (namespaces, thread)), Rule("fork", REFUSE), Rule("vfork", REFUSE)]


def _signal_rules(threads_only: bool, own_pid: int, parent_pid: int) -> list[Rule]:
    if threads_only:
        own = (Test(own_pid, ALLOW),)
        return [
            Rule("kill", REFUSE, 0, (Test(0, ALLOW), *own)),
            Rule("tgkill", REFUSE, 0, own),
            Rule("pidfd_open", REFUSE, 0, own),
        ]
    parent = Test(parent_pid, REFUSE)
    return [
        Rule("kill", ALLOW, 0, (parent, Test(_NEGATIVE, REFUSE, bits=True))),
        Rule("tgkill", ALLOW, 0, (parent,)),
    ]


def _block(rule: Rule) -> list[bytes]:
    if not rule.tests:
        return [_op(_RETURN, rule.otherwise)]
    code: list[bytes] = []
    loaded = None
    for test in rule.tests:
        arg = rule.arg if test.arg is None else test.arg
        if arg != loaded:
            code.append(_op(_LOAD, 16 + 8 * arg))
            loaded = arg
        code += [_op(_ANY_BIT if test.bits else _EQUAL, test.value, 0, 1), _op(_RETURN, test.action)]
    return [*code, _op(_RETURN, rule.otherwise)]


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
