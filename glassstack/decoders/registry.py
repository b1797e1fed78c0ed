"""Which decoder speaks for a device: by the family that its path belongs to.

The path decides, never the number: ioctl numbers of different drivers collide.
A family without a decoder gives the number taken apart, labelled as raw.
"""

import re
from collections.abc import Callable

from glassstack.decoders import fakegpu, ioc
from glassstack.decoders.fakegpu import Decoded

Decoder = Callable[[str, int, bytes, bytes, bytes, int], Decoded]

_FAMILIES = (
    ("fakegpu", re.compile(r"/dev/fakegpu(?:\d+|ctl|-uvm)")),
    ("nvidia-uvm", re.compile(r"/dev/nvidia-uvm(?:-tools)?")),
    ("nvidia", re.compile(r"/dev/nvidia(?:\d+|ctl|-modeset)")),
    ("drm", re.compile(r"/dev/dri/(?:card|renderD)\d+")),
    ("kfd", re.compile(r"/dev/kfd")),
)


def family(device: str) -> str:
    """The driver family of a node ("fakegpu", "nvidia", "nvidia-uvm", "drm", "kfd"), "" for any other."""
    return next((name for name, path in _FAMILIES if path.fullmatch(device)), "")


def raw_ioctl(
    device: str, request: int, before: bytes, after: bytes, payload: bytes = b"", ret: int = 0
) -> Decoded:
    """What an ioctl number tells by itself."""
    return Decoded(ioc.label(request), ioc.raw_fields(request))


def _uvm_raw(
    device: str, request: int, before: bytes, after: bytes, payload: bytes = b"", ret: int = 0
) -> Decoded:
    # nvidia-uvm takes bare integers; taking them apart would only mislead.
    return Decoded(ioc.label(request), {"request": request & 0xFFFFFFFF})


DECODERS: dict[str, Decoder] = {"fakegpu": fakegpu.decode_ioctl, "nvidia-uvm": _uvm_raw}
"""By family; add a row to teach a new one."""

_by_device: dict[str, Decoder] = {}
_KNOWN_MAX = 1024


def decode_ioctl(
    device: str, request: int, before: bytes, after: bytes, payload: bytes = b"", ret: int = 0
) -> Decoded:
    """Name and fields of an ioctl on any device; see fakegpu.decode_ioctl for the arguments. Never raises."""
    decoder = _by_device.get(device)
    if decoder is None:
        if len(_by_device) >= _KNOWN_MAX:
            _by_device.clear()
        decoder = _by_device[device] = DECODERS.get(family(device), raw_ioctl)
    return decoder(device, request, before, after, payload, ret)
