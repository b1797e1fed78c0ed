"""fakegpu's ioctls: one table of what each is, and the decoder over it.

Pure. Whatever the bytes, the answer is a name and fields; what can't be told
says so in a field.
"""

import struct
from collections.abc import Callable
from typing import NamedTuple

from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.decoders import ioc
from glassstack.decoders.fakegpu_uapi import Field
from glassstack.decoders.flags import bits
from glassstack.decoders.packets import summary
from glassstack.model.values import Scalar

Fields = dict[str, Scalar]


class Decoded(NamedTuple):
    """What an ioctl is called and what it carries."""

    name: str
    fields: Fields


class Ioctl(NamedTuple):
    """One ioctl: number, structure, what it does in one line, what NVIDIA has for it.

    ``errors`` explains errno names beyond the common ones; ``answers`` are the
    failures after which the argument was copied out nevertheless.
    """

    nr: int
    name: str
    direction: int
    struct: str
    text: str
    counterpart: str
    errors: dict[str, str] = {}
    answers: tuple[int, ...] = ()

    @property
    def request(self) -> int:
        """The number that ioctl(2) gets."""
        return ioc.join(self.direction, uapi.IOC_TYPE, self.nr, uapi.layout(self.struct).size)


_RW, _W = ioc.READ | ioc.WRITE, ioc.WRITE
_EINVAL, _ETIME = -22, -62
_NO_BUFFER = {"ENOENT": "this context has no such buffer"}
_NO_CHANNEL = {"ENOENT": "this context has no such channel"}

IOCTLS: tuple[Ioctl, ...] = (
    Ioctl(
        0x01, "INFO", _RW, "info",
        "Asks the driver what the device is: name, PCI address, memory, quota, version.",
        "NV_ESC_CARD_INFO, then NV_ESC_RM_CONTROL queries such as GPU_GET_ID_INFO and FB_GET_INFO",
    ),
    Ioctl(
        0x02, "CHECK_VERSION", _RW, "check_version",
        "Compares the library's version with the driver's: user and kernel half must be one release.",
        "NV_ESC_CHECK_VERSION_STR",
        {"EINVAL": "the versions differ (the mismatch line is in the kernel log), or the text has no end"},
        (_EINVAL,),
    ),
    Ioctl(
        0x03, "ALLOC", _RW, "alloc",
        "Makes a buffer in device memory; the handle names it in this context only.",
        "NV_ESC_RM_ALLOC of a memory class, or NV_ESC_RM_VID_HEAP_CONTROL",
        {
            "EDQUOT": "the context would hold more than its quota",
            "ENOMEM": "the device has no memory left",
            "EOVERFLOW": "the size wraps when rounded up to pages",
        },
    ),
    Ioctl(
        0x04, "FREE", _W, "free",
        "Drops a buffer; a job that still uses it will fault with Xid 31.",
        "NV_ESC_RM_FREE",
        _NO_BUFFER,
    ),
    Ioctl(
        0x05, "MAP", _RW, "map",
        "Asks at which offset to mmap(2) a buffer, a ring, or a page of doorbells or fences.",
        "NV_ESC_RM_MAP_MEMORY",
        {"ENOENT": "this context has no such object"},
    ),
    Ioctl(
        0x06, "CHANNEL_CREATE", _RW, "channel_create",
        "Makes a channel: with a ring it is driven by doorbell stores, without one by SUBMIT.",
        "NV_ESC_RM_ALLOC of a GPFIFO channel class and of the usermode (doorbell) class",
        {"ENOSPC": "the context has no channel slot left"},
    ),
    Ioctl(
        0x07, "CHANNEL_DESTROY", _W, "channel_destroy",
        "Drops a channel and the work it still has.",
        "NV_ESC_RM_FREE of the channel",
        _NO_CHANNEL,
    ),
    Ioctl(
        0x08, "SUBMIT", _RW, "submit",
        "Hands packets to the driver as one job; the driver copies them and numbers the fence.",
        "none: real GPUs submit through the GPFIFO and a doorbell store, without a syscall",
        {
            **_NO_CHANNEL,
            "EINVAL": "a malformed packet, or a channel that has a ring",
            "E2BIG": f"more than {uapi.SUBMIT_MAX} bytes",
            "EAGAIN": "1,024 jobs are queued already",
        },
    ),
    Ioctl(
        0x09, "WAIT", _RW, "wait",
        "Sleeps until the timeline has reached a seqno or the deadline passes; deadline 0 only looks.",
        "a poll of the semaphore in mapped memory, or poll(2) on a descriptor of NV_ESC_ALLOC_OS_EVENT",
        {**_NO_CHANNEL, "ETIME": "not signalled by the deadline", "EINTR": "a signal came first; call again"},
        (_ETIME,),
    ),
    Ioctl(
        0x0A, "CTX_INFO", _RW, "ctx_info",
        "Asks what the driver knows of this context: what it holds, what it did, whether it is poisoned.",
        "NV_ESC_RM_CONTROL queries such as GPU_GET_PID_INFO",
    ),
    Ioctl(
        0x0B, "USAGE", _RW, "usage",
        "Asks how long the device has been busy: utilisation is the growth between two looks.",
        "NV_ESC_RM_CONTROL queries behind nvmlDeviceGetUtilizationRates",
    ),
    Ioctl(
        0x0C, "PROCESSES", _RW, "processes",
        "Asks whose contexts the device has, and what memory and engine time each takes.",
        "NV_ESC_RM_CONTROL queries GPU_GET_PIDS and GPU_GET_PID_INFO",
    ),
    Ioctl(
        0x0D, "FENCE_EVENTFD", _W, "fence_eventfd",
        "Has a fence raise an eventfd(2) once, so that an event loop can wait for it.",
        "NV_ESC_ALLOC_OS_EVENT with NV01_EVENT_OS_EVENT; in DRM, DRM_IOCTL_SYNCOBJ_EVENTFD",
        {
            **_NO_CHANNEL,
            "EBADF": "no such descriptor",
            "EINVAL": "the descriptor is not of an eventfd, an unknown flag, or non-zero padding",
            "EAGAIN": "1,024 eventfds of the context wait already",
            "EPERM": "the embedded device may not take the descriptor out of the process (ptrace permission)",
            "ENOTSUP": "the embedded device has no pidfd_getfd(2) or no AIO here",
        },
    ),
    Ioctl(
        0x40, "UVM_INIT", _W, "uvm_init",
        "Announces the process to the memory manager, a driver of its own behind its own node.",
        "UVM_INITIALIZE on /dev/nvidia-uvm",
    ),
)  # fmt: skip
"""The ioctls by number."""

COMMON_ERRORS = {
    "EFAULT": "a pointer is not the program's memory",
    "EINVAL": "an unknown flag, non-zero padding or a bad value",
    "ENODEV": "the device has fallen off the bus",
    "EIO": "the context is poisoned by an earlier fault (Xid), or the firmware did not answer",
    "ENOTTY": "the node does not know this ioctl, or not with this size or direction",
}


def _text(raw: bytes) -> str:
    end = raw.find(b"\0")
    return raw[:end].decode("utf-8", "replace") if end >= 0 else raw.decode("utf-8", "replace") + " (no NUL)"


def _uuid(raw: bytes) -> str:
    digits = raw.hex()
    return f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _processes(raw: bytes) -> str:
    entries = uapi.layout("process").iter_unpack(raw)
    return "; ".join(
        f"context {context} pid {pid} {_text(name)} {size} B" + (f" Xid {xid}" if xid else "")
        for context, pid, _, xid, size, _, name in entries
        if context
    )


def _converter(field: Field) -> Callable[..., Scalar] | None:
    """How the raw member becomes a value; ``None``: as it is."""
    if field.name == "uuid":
        return _uuid
    if field.name == "entries":
        return _processes
    if field.code.endswith("s"):
        return _text
    words = field.words
    if words is None:
        return None
    if field.bits:
        return lambda value: bits(value, words)
    return lambda value: words.get(value, value)


class _Half:
    """One direction of a structure, ready to decode."""

    def __init__(self, name: str, ways: tuple[str, ...], rename: dict[str, str] | None = None) -> None:
        fields = uapi.STRUCTS[name]
        self.size = uapi.layout(name).size
        self.unpack = uapi.layout(name).unpack_from
        names = rename or {}
        self.plain: list[tuple[str, int]] = []
        self.converted: list[tuple[str, int, Callable[..., Scalar]]] = []
        self.zero: list[tuple[str, int]] = []
        for index, field in enumerate(fields):
            convert = _converter(field)
            label = names.get(field.name, field.name)
            if field.way == "zero" and "in" in ways:
                self.zero.append((label, index))
            elif field.way in ways and convert is None:
                self.plain.append((label, index))
            elif field.way in ways and convert is not None:
                self.converted.append((label, index, convert))

    def into(self, fields: Fields, data: bytes) -> None:
        try:
            values = self.unpack(data)
        except struct.error:
            what = "argument" if self.zero or not fields else "answer"
            fields[what] = f"missing: {len(data)} of {self.size} bytes could be read"
            return
        for name, index in self.plain:
            fields[name] = values[index]
        for name, index, convert in self.converted:
            fields[name] = convert(values[index])
        for name, index in self.zero:
            if values[index]:
                fields[name] = f"0x{values[index]:x} (must be 0)"


class _Decoder:
    def __init__(self, call: Ioctl) -> None:
        self.name = call.name
        self.answers = call.answers
        self.before = _Half(call.struct, ("in", "both"))
        after = _Half(call.struct, ("out", "both"), {"version": "driver_version"} if call.nr == 2 else None)
        self.after = after if after.plain or after.converted else None
        self.submit = call.name == "SUBMIT"

    def decode(self, before: bytes, after: bytes, payload: bytes, ret: int) -> Decoded:
        fields: Fields = {}
        self.before.into(fields, before)
        if self.submit and payload:
            length = fields.get("length")
            fields["ops"] = summary(payload, length if isinstance(length, int) else len(payload))
        if self.after is not None and after and (ret >= 0 or ret in self.answers):
            self.after.into(fields, after)
        return Decoded(self.name, fields)


_DECODERS = {call.request: _Decoder(call) for call in IOCTLS}
BY_NAME = {call.name: call for call in IOCTLS}
_BY_NR = {call.nr: call for call in IOCTLS}


def is_ours(request: int) -> bool:
    """Whether a number is of this driver's type, known or not."""
    return (request >> 8) & 0xFF == uapi.IOC_TYPE


def name_of(request: int) -> str:
    """The name of a number; marked with "?" where the header has another size or direction."""
    decoder = _DECODERS.get(request)
    if decoder is not None:
        return decoder.name
    call = _BY_NR.get(request & 0xFF) if is_ours(request) else None
    return f"{call.name}?" if call else ioc.label(request)


def decode_ioctl(
    device: str, request: int, before: bytes, after: bytes, payload: bytes = b"", ret: int = 0
) -> Decoded:
    """Name and fields of an ioctl on a fakegpu node.

    Args:
        device: the node, only to be shown.
        request: the number, as ioctl(2) got it.
        before, after: the argument before the call and as it was copied out (empty: was not, or could
            not be read).
        payload: the packets a SUBMIT points to, as far as they were kept.
        ret: the raw return; a failed call's out fields mean nothing and are left out.
    """
    decoder = _DECODERS.get(request)
    if decoder is not None:
        return decoder.decode(before, after, payload, ret)
    fields = ioc.raw_fields(request)
    parts = ioc.split(request)
    call = _BY_NR.get(parts.nr) if parts.type == uapi.IOC_TYPE else None
    if call is None:
        return Decoded(ioc.label(request), fields)
    fields["expected"] = f"0x{call.request:08x}"
    return Decoded(f"{call.name}?", fields)
