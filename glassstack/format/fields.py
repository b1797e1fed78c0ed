"""Decoded fields of calls and packets as text: the unit that their name asks for. Pure."""

from collections.abc import Mapping

from glassstack.format import units
from glassstack.format.text import plain
from glassstack.model.values import Scalar

_BYTES = frozenset({"size", "length", "len", "bytes", "quota", "vram_total", "vram_used", "ring_size"})
_HEX = frozenset(
    {
        *("offset", "packets", "addr", "address", "arg", "request", "cmd", "src_offset", "dst_offset"),
        *("params", "pRights", "pMemory", "pLinear", "dmaOffset", "gpFifoOffset", "base", "gpu_id", "reg"),
        *("attr", "owner", "memoryFlags", "channelFlags"),
    }
)
_NS = frozenset({"ns", "dur_ns", "timeout_ns", "delay_ns"})


def _is_handle(name: str) -> bool:
    """hClient, hObject …: NVIDIA's handles, which nobody reads in decimal."""
    return name[:1] == "h" and name[1:2].isupper()


def value(name: str, scalar: Scalar) -> str:
    """One value: bytes as sizes, offsets in hexadecimal, delays as durations, the rest as it is."""
    if scalar is None:
        return "-"
    if isinstance(scalar, bool):
        return "yes" if scalar else "no"
    if isinstance(scalar, int):
        if name in _BYTES:
            return units.size(scalar).replace(" ", "")
        if name in _HEX or (name == "flags" and scalar > 9) or _is_handle(name):
            return units.address(scalar)
        if name in _NS:
            return units.duration(scalar).replace(" ", "")
        return str(scalar)
    return plain(scalar) if isinstance(scalar, str) else f"{scalar:g}"


def line(fields: Mapping[str, Scalar]) -> str:
    """All fields on one line: ``size=64KiB handle=3``."""
    return " ".join(f"{plain(name)}={value(name, scalar)}" for name, scalar in fields.items())
