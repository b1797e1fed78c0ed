"""Numbers of the kernel's syscall, seccomp and ptrace interfaces that python-ptrace does not have."""

import platform
from dataclasses import dataclass

from glassstack.decoders.syscalls import NUMBERS

SYSCALL_STOP = 0x857F
"""Wait status of a syscall-stop: SIGTRAP with TRACESYSGOOD's bit."""
SECCOMP_STOP = 0x7057F
"""Wait status of PTRACE_EVENT_SECCOMP."""

PTRACE_SEIZE = 0x4206
PTRACE_INTERRUPT = 0x4207
PTRACE_LISTEN = 0x4208
PTRACE_GET_SYSCALL_INFO = 0x420E
PTRACE_O_TRACESECCOMP = 0x80
PTRACE_O_EXITKILL = 0x100000
PTRACE_EVENT_STOP = 128

SYSCALL_INFO_EXIT = 2
SYSCALL_INFO_SIZE = 88

WALL = 0x40000000
WALL_NOHANG = WALL | 1

PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_RET_TRACE = 0x7FF00000
SECCOMP_RET_ALLOW = 0x7FFF0000

F_DUPFD = 0
F_DUPFD_CLOEXEC = 1030
MAP_ANONYMOUS = 0x20
CLOSE_RANGE_CLOEXEC = 4
O_CLOEXEC = 0o2000000


@dataclass(frozen=True)
class Machine:
    """One architecture: its AUDIT_ARCH number, the number of seccomp(2), and the calls that are traced."""

    audit_arch: int
    seccomp: int
    calls: dict[str, int]
    first_foreign: int | None = None
    """Numbers from here on belong to another calling convention (x32) and are left alone."""


TRACED = (
    "ioctl", "mmap", "munmap", "close", "close_range", "dup", "dup2", "dup3", "fcntl",
    "open", "openat", "openat2", "creat",
)  # fmt: skip
"""Calls that can concern a device, where the architecture has them."""


def _calls(name: str) -> dict[str, int]:
    return {call: NUMBERS[name][call] for call in TRACED if call in NUMBERS[name]}


_MACHINES = {
    "x86_64": Machine(0xC000003E, 317, _calls("x86_64"), first_foreign=0x40000000),
    "aarch64": Machine(0xC00000B7, 277, _calls("aarch64")),
}


def machine(name: str | None = None) -> Machine | None:
    """The architecture of that name (default: of this machine), or ``None`` where it is not known."""
    return _MACHINES.get(name or platform.machine())
