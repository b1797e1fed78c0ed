"""Syscalls that concern devices: numbers, errno names, flags as C spells them. Pure.

Owns the words; which of these calls are traced, and how, is the collectors'.
"""

import errno
import struct

from glassstack.decoders.flags import bits
from glassstack.model.values import Scalar

Fields = dict[str, Scalar]

NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {
        "read": 0, "write": 1, "open": 2, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7,
        "mmap": 9, "mprotect": 10, "munmap": 11, "ioctl": 16, "access": 21, "mremap": 25, "dup": 32,
        "dup2": 33, "fcntl": 72, "creat": 85, "readlink": 89, "getdents": 78, "mknod": 133,
        "getdents64": 217, "openat": 257, "mknodat": 259, "newfstatat": 262, "unlinkat": 263,
        "readlinkat": 267, "faccessat": 269, "dup3": 292, "statx": 332, "close_range": 436,
        "openat2": 437, "faccessat2": 439,
    },
    "aarch64": {
        "dup": 23, "dup3": 24, "fcntl": 25, "ioctl": 29, "mknodat": 33, "unlinkat": 35, "faccessat": 48,
        "openat": 56, "close": 57, "getdents64": 61, "read": 63, "write": 64, "readlinkat": 78,
        "newfstatat": 79, "fstat": 80, "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226,
        "statx": 291, "close_range": 436, "openat2": 437, "faccessat2": 439,
    },
}  # fmt: skip
"""Machine (as uname says it) → name → number."""

OPENS = frozenset({"open", "openat", "openat2", "creat"})
"""Calls that give a descriptor for a path."""

_DIRFD = frozenset(
    {
        "openat",
        "openat2",
        "newfstatat",
        "statx",
        "faccessat",
        "faccessat2",
        "readlinkat",
        "mknodat",
        "unlinkat",
    }
)
_NAMES = {machine: {nr: name for name, nr in calls.items()} for machine, calls in NUMBERS.items()}
_RESTART = {
    512: "ERESTARTSYS",
    513: "ERESTARTNOINTR",
    514: "ERESTARTNOHAND",
    516: "ERESTART_RESTARTBLOCK",
}
_ERRNO = {**errno.errorcode, **_RESTART, 95: "EOPNOTSUPP"}

PROT = {1: "PROT_READ", 2: "PROT_WRITE", 4: "PROT_EXEC"}
MAP_TYPES = {1: "MAP_SHARED", 2: "MAP_PRIVATE", 3: "MAP_SHARED_VALIDATE"}
MAP = {
    0x10: "MAP_FIXED",
    0x20: "MAP_ANONYMOUS",
    0x2000: "MAP_LOCKED",
    0x4000: "MAP_NORESERVE",
    0x8000: "MAP_POPULATE",
    0x10000: "MAP_NONBLOCK",
    0x40000: "MAP_HUGETLB",
    0x80000: "MAP_SYNC",
    0x100000: "MAP_FIXED_NOREPLACE",
}
_ACCESS = ("O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE")
_OPEN = {
    0o100: "O_CREAT",
    0o200: "O_EXCL",
    0o400: "O_NOCTTY",
    0o1000: "O_TRUNC",
    0o2000: "O_APPEND",
    0o4000: "O_NONBLOCK",
    0o2000000: "O_CLOEXEC",
    0o10000000: "O_PATH",
}
_AT_FDCWD = -100


def syscall_name(nr: int, machine: str) -> str:
    """The name of a number, "syscall N" where it is not one of these."""
    return _NAMES.get(machine, {}).get(nr) or f"syscall {nr}"


def errno_name(ret: int) -> str | None:
    """The error that a raw return stands for ("EINVAL"), ``None`` for success."""
    if not -4095 <= ret < 0:
        return None
    return _ERRNO.get(-ret) or f"errno {-ret}"


def prot_text(value: int) -> str:
    """mmap's protection: "PROT_READ|PROT_WRITE"."""
    return bits(value & 0xFFFFFFFF, PROT, "PROT_NONE")


def map_text(value: int) -> str:
    """mmap's flags: "MAP_SHARED|MAP_POPULATE"."""
    value &= 0xFFFFFFFF
    kind = MAP_TYPES.get(value & 0xF)
    rest = bits(value & ~0xF if kind else value, MAP, "")
    return "|".join(filter(None, (kind, rest))) or "0"


def open_text(value: int) -> str:
    """open's flags: "O_RDWR|O_CLOEXEC"."""
    value &= 0xFFFFFFFF
    return "|".join(filter(None, (_ACCESS[value & 3], bits(value & ~3, _OPEN, ""))))


def as_int(value: int) -> int:
    """A register as the kernel takes an int from it: the low 32 bits, signed."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def _open_fields(name: str, args: tuple[int, ...], data: bytes) -> Fields:
    if name == "openat2":
        return {"flags": open_text(struct.unpack_from("=Q", data)[0])} if len(data) >= 8 else {}
    return {} if name == "creat" else {"flags": open_text(args[2 if name == "openat" else 1])}


def path_fields(name: str, args: tuple[int, ...], path: str, data: bytes = b"") -> Fields:
    """Fields of a call on a path; ``data`` is openat2's struct open_how where it was read."""
    fields: Fields = {"path": path}
    directory = as_int(args[0])
    if name in _DIRFD and directory != _AT_FDCWD:
        fields["dirfd"] = directory
    if name in OPENS:
        fields.update(_open_fields(name, args, data))
    return fields
