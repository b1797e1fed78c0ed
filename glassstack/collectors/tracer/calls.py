"""From what the tracer saw of a call to an event. Pure: numbers and bytes in, a Syscall out."""

from collections.abc import Callable
from functools import cache

from glassstack.collectors.tracer.tracees import Call
from glassstack.decoders import ioc, registry
from glassstack.decoders.fakegpu_uapi import IOC_TYPE
from glassstack.decoders.syscalls import OPENS, as_int, errno_name, map_text, path_fields, prot_text
from glassstack.model.events import Syscall
from glassstack.model.values import Scalar, Source

Finished = tuple[int, int, Call, str, int, int, int, bytes]
"""pid, tid, call, device, return value, entry and return in CLOCK_MONOTONIC ns, memory after the call."""

Fields = dict[str, Scalar]

_DUPFD_NAMES = {0: "F_DUPFD", 1030: "F_DUPFD_CLOEXEC"}


def is_decoded(device: str, request: int) -> bool:
    """Whether a decoder can make something of the argument of this ioctl."""
    return (request >> 8) & 0xFF == IOC_TYPE and device.startswith("/dev/fakegpu")


def _mapping(call: Call) -> Fields:
    address, length, prot, flags, _, offset = call[3]
    return {
        "address": address,
        "length": length,
        "prot": prot_text(prot),
        "flags": map_text(flags),
        "offset": offset,
    }


def _opening(call: Call) -> Fields:
    return path_fields(call[0], call[3], (call[4] or b"").decode("utf-8", "replace"), call[6])


_FIELDS: dict[str, Callable[[Call], Fields]] = {
    "mmap": _mapping,
    "munmap": lambda call: {"address": call[3][0], "length": call[3][1]},
    "close": lambda call: {},
    "close_range": lambda call: {"first": call[3][0], "last": call[3][1], "flags": call[3][2]},
    "dup": lambda call: {},
    "dup2": lambda call: {"new": as_int(call[3][1])},
    "dup3": lambda call: {"new": as_int(call[3][1]), "flags": "O_CLOEXEC" if call[3][2] else "0"},
    "fcntl": lambda call: {"command": _DUPFD_NAMES.get(call[3][1], "?"), "from": as_int(call[3][2])},
    "open": _opening,
    "creat": _opening,
    "openat": _opening,
    "openat2": _opening,
}


_label = cache(ioc.label)
_errno = cache(errno_name)
_PTRACE = Source.PTRACE


def fields_of(call: Call, device: str, after: bytes, ret: int) -> tuple[str, Fields]:
    """Name and fields of a call; ``after`` is the memory it has written, empty while it runs."""
    syscall, _, _, args, before, _, payload, _ = call
    if syscall != "ioctl":
        return syscall, _FIELDS[syscall](call)
    if before is None:
        return _label(args[1] & 0xFFFFFFFF), {"arg": args[2]}
    return registry.decode_ioctl(device, args[1] & 0xFFFFFFFF, before, after, payload, ret)


def event_of(done: Finished) -> Syscall:
    """The event that says it."""
    pid, tid, call, device, ret, since, until, after = done
    syscall, _, fd, args, _, _, _, _ = call
    name, fields = fields_of(call, device, after, ret)
    request = args[1] & 0xFFFFFFFF if syscall == "ioctl" else None
    if ret < 0:
        failed = _errno(ret) if ret >= -4095 else None
    else:
        failed = None
        if syscall in OPENS:
            fd = ret
    return Syscall(
        since, _PTRACE, pid, tid, syscall, device, name, fields, ret, failed, until - since, fd, request
    )
