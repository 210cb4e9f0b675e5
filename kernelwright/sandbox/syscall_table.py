"""Numbers of the system calls that the filter names, for x86-64 and 64-bit ARM.

Source: the kernel's `asm/unistd_64.h` and `asm-generic/unistd.h`. `None` where an architecture
does not have the call.
"""

from __future__ import annotations

import platform

_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# fmt: off
_TABLE: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "kcmp": (312, 272),
    "move_pages": (279, 239), "migrate_pages": (256, 238), "userfaultfd": (323, 282),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "bpf": (321, 280),
    "perf_event_open": (298, 241), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "setns": (308, 268), "unshare": (272, 97), "move_mount": (429, 429), "open_tree": (428, 428),
    "fsopen": (430, 430), "fsmount": (432, 432), "fspick": (433, 433), "fsconfig": (431, 431),
    "mount_setattr": (442, 442), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266),
    "adjtimex": (159, 171), "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "open_by_handle_at": (304, 265), "iopl": (172, None), "ioperm": (173, None), "syslog": (103, 116),
    "vhangup": (153, 58), "fanotify_init": (300, 262), "memfd_secret": (447, 447),
    "io_uring_setup": (425, 425), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "prlimit64": (302, 261),
    "prctl": (157, 167), "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "setpriority": (141, 140),
    "ioprio_set": (251, 30), "socket": (41, 198), "connect": (42, 203), "clone": (56, 220),
    "clone3": (435, 435), "fork": (57, None), "vfork": (58, None), "setsid": (112, 157),
    "setpgid": (109, 154), "seccomp": (317, 277), "close": (3, 57),
    "ioctl": (16, 29), "fcntl": (72, 25), "dup2": (33, None), "dup3": (292, 24), "close_range": (436, 436),
}
# fmt: on


def audit_arch() -> int | None:
    """What the kernel calls this architecture in a filter; `None` where it has no table here."""
    return _AUDIT.get(platform.machine())


def number(name: str) -> int | None:
    """Number of the call on this machine; `None` if it has no such call."""
    x86, arm = _TABLE[name]
    return x86 if platform.machine() == "x86_64" else arm
