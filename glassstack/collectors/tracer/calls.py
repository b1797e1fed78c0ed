"""From what the tracer saw of a call to an event. Pure: numbers and bytes in, a Syscall out."""

import errno
from collections.abc import Callable
from functools import cache

from glassstack.collectors.tracer.abi import ERRNO_RESTART
from glassstack.collectors.tracer.tracees import Call
from glassstack.decoders import fakegpu, ioc
from glassstack.decoders.fakegpu_uapi import IOC_TYPE
from glassstack.model.events import Syscall
from glassstack.model.values import Scalar, Source

Finished = tuple[int, int, Call, str, int, int, int, bytes]
"""pid, tid, call, device, return value, entry and return in CLOCK_MONOTONIC ns, memory after the call."""

Fields = dict[str, Scalar]

_PROT = ((1, "PROT_READ"), (2, "PROT_WRITE"), (4, "PROT_EXEC"))
_MAP = ((0x1, "MAP_SHARED"), (0x2, "MAP_PRIVATE"), (0x10, "MAP_FIXED"), (0x8000, "MAP_POPULATE"))
_ACCESS = ("O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE")
_OPEN = (
    (0o100, "O_CREAT"),
    (0o200, "O_EXCL"),
    (0o1000, "O_TRUNC"),
    (0o2000, "O_APPEND"),
    (0o4000, "O_NONBLOCK"),
    (0o2000000, "O_CLOEXEC"),
    (0o10000000, "O_PATH"),
)
_DUPFD_NAMES = {0: "F_DUPFD", 1030: "F_DUPFD_CLOEXEC"}


def _flags(value: int, names: tuple[tuple[int, str], ...], none: str) -> str:
    words = [name for bit, name in names if value & bit]
    rest = value & ~sum(bit for bit, _ in names)
    if rest:
        words.append(hex(rest))
    return "|".join(words) or none


def open_flags(value: int) -> str:
    """The flags of an open as C spells them."""
    words = _flags(value & ~3 & 0xFFFFFFFF, _OPEN, "")
    return _ACCESS[value & 3] + (f"|{words}" if words else "")


def _opening(call: Call, flags: int | None) -> Fields:
    fields: Fields = {"path": call[4].decode("utf-8", "replace")}
    if flags is not None:
        fields["flags"] = open_flags(flags)
    return fields


def _mapping(call: Call) -> Fields:
    address, length, prot, flags, _, offset = call[3]
    return {
        "address": address,
        "length": length,
        "prot": _flags(prot & 0xFFFFFFFF, _PROT, "PROT_NONE"),
        "flags": _flags(flags & 0xFFFFFFFF, _MAP, "0"),
        "offset": offset,
    }


def is_decoded(device: str, request: int) -> bool:
    """Whether a decoder can make something of the argument of this ioctl."""
    return (request >> 8) & 0xFF == IOC_TYPE and device.startswith("/dev/fakegpu")


_FIELDS: dict[str, Callable[[Call], Fields]] = {
    "mmap": _mapping,
    "munmap": lambda call: {"address": call[3][0], "length": call[3][1]},
    "close": lambda call: {},
    "close_range": lambda call: {"first": call[3][0], "last": call[3][1], "flags": call[3][2]},
    "dup": lambda call: {},
    "dup2": lambda call: {"new": call[3][1]},
    "dup3": lambda call: {"new": call[3][1], "flags": "O_CLOEXEC" if call[3][2] else "0"},
    "fcntl": lambda call: {"command": _DUPFD_NAMES.get(call[3][1], hex(call[3][1])), "from": call[3][2]},
    "open": lambda call: _opening(call, call[3][1]),
    "creat": lambda call: _opening(call, None),
    "openat": lambda call: _opening(call, call[3][2]),
    "openat2": lambda call: _opening(call, int.from_bytes(call[6], "little") if call[6] else None),
}


def errno_name(ret: int) -> str | None:
    """The name of the error that a raw return value stands for, ``None`` for success."""
    if not -4095 <= ret < 0:
        return None
    return errno.errorcode.get(-ret) or ERRNO_RESTART.get(-ret) or f"errno {-ret}"


@cache
def _label(request: int) -> str:
    return ioc.label(request)


def fields_of(call: Call, after: bytes, ret: int) -> tuple[str, Fields]:
    """Name and fields of a call; ``after`` is the memory it has written, empty while it runs."""
    if call[0] != "ioctl":
        return call[0], _FIELDS[call[0]](call)
    request = call[3][1] & 0xFFFFFFFF
    if is_decoded(call[1], request):
        return fakegpu.decode_ioctl(call[1], request, call[4], after, call[6], ret)
    return _label(request), {"arg": call[3][2]}


def event_of(done: Finished) -> Syscall:
    """The event that says it."""
    pid, tid, call, device, ret, since, until, after = done
    failed = errno_name(ret) if ret < 0 else None
    syscall, fd, args = call[0], call[2], call[3]
    name, fields = fields_of(call, after, ret)
    request = args[1] & 0xFFFFFFFF if syscall == "ioctl" else None
    if syscall in _OPENS and ret >= 0:
        fd = ret
    return Syscall(
        since, Source.PTRACE, pid, tid, syscall, device, name, fields, ret, failed, until - since, fd, request
    )


_OPENS = frozenset(("open", "creat", "openat", "openat2"))
