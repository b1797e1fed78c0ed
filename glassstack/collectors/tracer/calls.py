"""From what the tracer saw of a call to an event. Pure: numbers and bytes in, a Syscall out."""

from collections.abc import Callable
from functools import cache, lru_cache

import msgspec

from glassstack.decoders import registry
from glassstack.decoders.syscalls import OPENS, as_int, errno_name, map_text, path_fields, prot_text
from glassstack.model.events import Event, Syscall
from glassstack.model.values import Scalar, Source

RawCall = tuple[
    int, int, str, str, int | None, tuple[int, ...], bytes | None, bytes, int, int, int, bytes
]  # fmt: skip
"""A finished call as it crosses the wire: pid, tid, syscall, device, fd, arguments, what they pointed to
before (``None``: not read), payload, return value, entry and return in CLOCK_MONOTONIC ns, memory after.

Making an event of it costs as much as seeing it did, so the reader does that."""

Item = Event | RawCall
"""What crosses the wire."""

encode = msgspec.msgpack.Encoder().encode
"""list[Item] → bytes."""
decode = msgspec.msgpack.Decoder(list[Item]).decode
"""bytes → list[Item]; msgspec.DecodeError on anything else."""

Fields = dict[str, Scalar]
Args = tuple[int, ...]

_DUPFD_NAMES = {0: "F_DUPFD", 1030: "F_DUPFD_CLOEXEC"}


def is_decoded(device: str, request: int) -> bool:
    """Whether a decoder can make something of the argument of this ioctl."""
    return registry.reads(device, request) is not None


def _mapping(args: Args) -> Fields:
    address, length, prot, flags, _, offset = args
    return {
        "address": address,
        "length": length,
        "prot": prot_text(prot),
        "flags": map_text(flags),
        "offset": offset,
    }


_FIELDS: dict[str, Callable[[Args], Fields]] = {
    "mmap": _mapping,
    "munmap": lambda args: {"address": args[0], "length": args[1]},
    "close": lambda args: {},
    "close_range": lambda args: {"first": args[0], "last": args[1], "flags": args[2]},
    "dup": lambda args: {},
    "dup2": lambda args: {"new": as_int(args[1])},
    "dup3": lambda args: {"new": as_int(args[1]), "flags": "O_CLOEXEC" if args[2] else "0"},
    "fcntl": lambda args: {"command": _DUPFD_NAMES.get(args[1], "?"), "from": as_int(args[2])},
}

_label = lru_cache(maxsize=4096)(registry.name_ioctl)
_errno = cache(errno_name)
_PTRACE = Source.PTRACE


def fields_of(
    syscall: str, device: str, args: Args, before: bytes | None, payload: bytes, after: bytes, ret: int
) -> tuple[str, Fields]:
    """Name and fields of a call; ``after`` is the memory it has written, empty while it runs."""
    if syscall == "ioctl":
        if before is None:
            return _label(device, args[1] & 0xFFFFFFFF), {"arg": args[2]}
        return registry.decode_ioctl(device, args[1] & 0xFFFFFFFF, before, after, payload, ret)
    if syscall in OPENS:
        return "open", path_fields(syscall, args, (before or b"").decode("utf-8", "replace"), payload)
    return syscall, _FIELDS[syscall](args)


def event_of(call: RawCall) -> Syscall:
    """The event that says it."""
    pid, tid, syscall, device, fd, args, before, payload, ret, since, until, after = call
    name, fields = fields_of(syscall, device, args, before, payload, after, ret)
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
