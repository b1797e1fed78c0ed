"""The mirror of kmod/uapi/fakegpu.h: constants and the layout of every structure.

One table, no behaviour. A test compiles the header and compares sizes,
offsets and numbers with it.
"""

import struct
from typing import NamedTuple

MAJOR = 120
UVM_MAJOR = 509
MAX_DEVICES = 8
MINOR_CTL = 255
PAGE = 4096
OFF_DOORBELL = 0x0
OFF_FENCE = 0x1000
OFF_COMPLETION = 0x10000
COMPLETION_SIZE = 0x10000
OFF_RING = 0x100000
RING_STRIDE = 0x100000
OFF_BUFFER = 0x10000000
OFF_END = 0x1000000000
MAPS_CONTEXTS = 1 << 27
MAX_CHANNELS = 32
SUBMIT_MAX = 65536
PROCESSES_MAX = 3
SLOT = 64
IOC_TYPE = 0xFA

VERSION_MODES = {0: "STRICT", 1: "QUERY"}
MAP_WHAT = {0: "BUFFER", 1: "RING", 2: "DOORBELL", 3: "FENCE", 4: "COMPLETION"}
CHANNEL_FLAGS = {0x1: "RING"}
DEVICES = {0xFFFFFFFF: "control node"}


class Field(NamedTuple):
    """A member of a structure.

    ``code`` is struct's. ``way``: "in", "out", "both", or "zero" for what must
    be 0 (shown only where it is not). ``words`` name an enum's values, or the
    bits where ``bits`` is set.
    """

    name: str
    code: str
    way: str = "in"
    words: dict[int, str] | None = None
    bits: bool = False


def _f(text: str, code: str, way: str = "in") -> tuple[Field, ...]:
    """Fields of one type that need no words."""
    return tuple(Field(name, code, way) for name in text.split())


_FLAGS = Field("flags", "I", "zero")
_PAD = Field("pad", "I", "zero")
_HEAD = (*_f("op size", "H"), _FLAGS)

STRUCTS: dict[str, tuple[Field, ...]] = {
    "info": (
        _FLAGS,
        Field("device", "I", "out", DEVICES),
        *_f("device_count uapi_version pci_domain pci_bus pci_slot max_channels", "I", "out"),
        *_f("vram_total vram_used quota", "Q", "out"),
        Field("uuid", "16s", "out"),
        Field("name", "32s", "out"),
        Field("version", "64s", "out"),
    ),
    "check_version": (
        Field("mode", "I", "in", VERSION_MODES),
        Field("reply", "I", "out", {0: "different", 1: "same"}),
        Field("version", "64s", "both"),
    ),
    "alloc": (*_f("size", "Q"), _FLAGS, *_f("handle", "I", "out")),
    "free": (*_f("handle", "I"), _PAD),
    "map": (
        Field("what", "I", "in", MAP_WHAT),
        *_f("handle", "I"),
        _FLAGS,
        _PAD,
        *_f("offset length", "Q", "out"),
    ),
    "channel_create": (
        Field("flags", "I", "in", CHANNEL_FLAGS, bits=True),
        *_f("ring_size", "I"),
        *_f("handle index", "I", "out"),
    ),
    "channel_destroy": (*_f("handle", "I"), _PAD),
    "submit": (
        *_f("channel", "I"),
        _FLAGS,
        *_f("packets", "Q"),
        *_f("length", "I"),
        _PAD,
        *_f("seqno", "Q", "out"),
    ),
    "wait": (*_f("channel", "I"), _FLAGS, *_f("seqno deadline_ns", "Q"), *_f("signalled", "Q", "out")),
    "ctx_info": (
        _FLAGS,
        *_f("id buffers channels", "I", "out"),
        *_f("bytes quota submits completions doorbells", "Q", "out"),
        *_f("poisoned xid", "I", "out"),
    ),
    "usage": (_FLAGS, _PAD, *_f("now_ns busy_ns jobs", "Q", "out")),
    "process": (
        *_f("context pid channels xid", "I", "out"),
        *_f("bytes busy_ns", "Q", "out"),
        Field("name", "32s", "out"),
    ),
    "processes": (
        _FLAGS,
        *_f("after", "I"),
        *_f("count more", "I", "out"),
        *_f("now_ns", "Q", "out"),
        Field("entries", "192s", "out"),
    ),
    "fence_eventfd": (*_f("channel", "I"), _FLAGS, *_f("seqno", "Q"), *_f("fd", "i"), _PAD),
    "uvm_init": (_FLAGS, _PAD),
    "packet": _HEAD,
    "packet_fill": (*_HEAD, *_f("handle value", "I"), *_f("offset length", "Q")),
    "packet_copy": (*_HEAD, *_f("src dst", "I"), *_f("src_offset dst_offset length", "Q")),
    "packet_vecadd": (*_HEAD, *_f("a b c count", "I"), *_f("a_offset b_offset c_offset", "Q")),
    "packet_delay": (*_HEAD, *_f("ns", "Q")),
    "packet_fence": (*_HEAD, *_f("seqno", "Q")),
    "packet_fault": (*_HEAD, *_f("xid", "I"), _PAD),
    "doorbell_slot": (*_f("wptr", "I"), Field("reserved", "60s", "zero")),
    "fence_slot": (
        *_f("seqno", "Q"),
        *_f("rptr error", "I"),
        *_f("doorbells jobs done_ns", "Q"),
        Field("reserved", "24s", "zero"),
    ),
    "completion_head": (
        *_f("entries entry_size", "I"),
        *_f("written", "Q"),
        Field("reserved", "48s", "zero"),
    ),
    "completion": (
        *_f("seqno queued_ns start_ns done_ns", "Q"),
        *_f("channel status", "I"),
        *_f("bytes", "Q"),
        Field("reserved", "16s", "zero"),
    ),
}
"""By the name after ``fakegpu_``; native alignment never pads, the header sees to that."""

OPS: dict[int, tuple[str, str]] = {
    0: ("NOP", "packet"),
    1: ("FILL", "packet_fill"),
    2: ("COPY", "packet_copy"),
    3: ("VECADD", "packet_vecadd"),
    4: ("DELAY", "packet_delay"),
    5: ("FENCE", "packet_fence"),
    6: ("FAULT", "packet_fault"),
}
"""Packet op → its name and structure."""


def layout(name: str) -> struct.Struct:
    """The structure ``fakegpu_NAME`` as the machine has it in memory."""
    return struct.Struct("=" + "".join(field.code for field in STRUCTS[name]))
