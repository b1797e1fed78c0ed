"""Which decoder speaks for a device: by the family that its path belongs to.

The path decides, never the number: ioctl numbers of different drivers collide.
A family without a decoder gives the number taken apart, labelled as raw. The
same table says how much of a program's memory each decoder wants to see, so
that whoever watches a call knows what to copy.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from glassstack.decoders import fakegpu, ioc, other
from glassstack.decoders.fakegpu import Decoded
from glassstack.decoders.nvidia import frontend, uvm
from glassstack.decoders.nvidia.frontend import Nested
from glassstack.decoders.nvidia.rows import Version, version_of
from glassstack.decoders.nvidia.table_escapes import XFER

Decoder = Callable[[str, int, bytes, bytes, bytes, int], Decoded]
Namer = Callable[[int], str]


class Reads(NamedTuple):
    """What to copy of an ioctl's argument: bytes of it before and after the call.

    ``nested`` finds, in the bytes from before, one more stretch of memory: it
    is the ``payload`` before the call, and goes behind the argument's bytes
    after it where ``again`` is set.
    """

    before: int
    after: int
    nested: Callable[[bytes], Nested | None] | None = None


class Family(NamedTuple):
    """A driver: its nodes, and what is known of its ioctls."""

    path: re.Pattern[str]
    decode: Decoder
    name: Namer = ioc.label
    reads: Callable[[int], Reads | None] = lambda request: None


_driver: Version = ()


def use_driver(version: str) -> None:
    """Layouts are from now on those of this NVIDIA driver ("550.54.14"; "": unknown, sizes decide).

    There is one such driver on a machine, so it is one setting of the program.
    """
    global _driver
    _driver = version_of(version) if version else ()


def raw_ioctl(
    device: str, request: int, before: bytes, after: bytes, payload: bytes = b"", ret: int = 0
) -> Decoded:
    """What an ioctl number tells by itself."""
    return Decoded(ioc.label(request), ioc.raw_fields(request))


def _frontend(device: str, request: int, before: bytes, after: bytes, payload: bytes, ret: int) -> Decoded:
    return Decoded(*frontend.decode(request, before, after, payload, ret, _driver))


def _uvm(device: str, request: int, before: bytes, after: bytes, payload: bytes, ret: int) -> Decoded:
    return Decoded(*uvm.decode(request & 0xFFFFFFFF, before, after, ret, _driver))


def _named(family: str) -> tuple[Decoder, Namer]:
    """A driver whose ioctls are only named."""

    def name(request: int) -> str:
        return other.name_of(family, request)

    def decode(device: str, request: int, before: bytes, after: bytes, payload: bytes, ret: int) -> Decoded:
        return Decoded(name(request), ioc.raw_fields(request))

    return decode, name


def _fakegpu_packets(before: bytes) -> Nested | None:
    length = int.from_bytes(before[16:20], "little")
    return Nested(int.from_bytes(before[8:16], "little"), min(length, 1024)) if len(before) >= 20 else None


def _by_number(request: int) -> Reads:
    """As the number itself says."""
    direction, _, _, size = ioc.split(request)
    return Reads(size if direction & ioc.WRITE else 0, size if direction & ioc.READ else 0)


def _fakegpu_reads(request: int) -> Reads | None:
    if not fakegpu.is_ours(request):
        return None
    reads = _by_number(request)
    return reads._replace(nested=_fakegpu_packets) if request == fakegpu.BY_NAME["SUBMIT"].request else reads


def _frontend_reads(request: int) -> Reads | None:
    if (request >> 8) & 0xFF != frontend.TYPE:
        return None
    nests = request & 0xFF in (XFER, frontend.RM_ALLOC)

    def nested(before: bytes) -> Nested | None:
        return frontend.nested_of(request, before)

    return _by_number(request)._replace(nested=nested if nests else None)


def _uvm_reads(request: int) -> Reads | None:
    size = uvm.size_of(request)
    return Reads(size, size) if size else None


FAMILIES: dict[str, Family] = {
    "fakegpu": Family(
        re.compile(r"/dev/fakegpu(?:\d+|ctl|-uvm)"), fakegpu.decode_ioctl, fakegpu.name_of, _fakegpu_reads
    ),
    "nvidia-uvm": Family(re.compile(r"/dev/nvidia-uvm(?:-tools)?"), _uvm, uvm.name_of, _uvm_reads),
    "nvidia": Family(re.compile(r"/dev/nvidia(?:\d+|ctl)"), _frontend, frontend.name_of, _frontend_reads),
    "nvidia-modeset": Family(re.compile(r"/dev/nvidia-modeset"), raw_ioctl),
    "nvidia-caps": Family(re.compile(r"/dev/nvidia-caps(?:-imex-channels)?/[\w-]+"), raw_ioctl),
    "drm": Family(re.compile(r"/dev/dri/(?:card|renderD)\d+"), *_named("drm")),
    "kfd": Family(re.compile(r"/dev/kfd"), *_named("kfd")),
}
"""By name; add a row to teach a new one."""

_OTHER = Family(re.compile(r"(?!)"), raw_ioctl)
_by_device: dict[str, Family] = {}
_reads: dict[tuple[str, int], Reads | None] = {}
_KNOWN_MAX = 1024


def family(device: str) -> str:
    """The driver family of a node, a key of FAMILIES; "" for any other."""
    return next((name for name, known in FAMILIES.items() if known.path.fullmatch(device)), "")


def _family(device: str) -> Family:
    known = _by_device.get(device)
    if known is None:
        if len(_by_device) >= _KNOWN_MAX:
            _by_device.clear()
        known = _by_device[device] = FAMILIES.get(family(device), _OTHER)
    return known


def decode_ioctl(
    device: str, request: int, before: bytes, after: bytes, payload: bytes = b"", ret: int = 0
) -> Decoded:
    """Name and fields of an ioctl on any device; see fakegpu.decode_ioctl for the arguments. Never raises."""
    return _family(device).decode(device, request, before, after, payload, ret)


def name_ioctl(device: str, request: int) -> str:
    """The name of an ioctl whose argument nobody saw."""
    return _family(device).name(request)


def reads(device: str, request: int) -> Reads | None:
    """What to copy of an ioctl's argument; ``None`` where no decoder would make anything of it."""
    key = (device, request)
    try:
        return _reads[key]
    except KeyError:
        if len(_reads) >= _KNOWN_MAX:
            _reads.clear()
        found = _reads[key] = _family(device).reads(request)
        return found
