"""The soname of a shared object, from its dynamic section.

Owns as much of ELF as that needs, in both word sizes and byte orders. A file
that lies about itself has no soname; it never raises and never reads much.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO

_SHARED = 3  # ET_DYN
_LOAD, _DYNAMIC = 1, 2  # PT_*
_END, _STRINGS, _SONAME = 0, 5, 14  # DT_*
_HEADERS_MAX = 128
_DYNAMIC_MAX = 64 << 10
_NAME_MAX = 256


@dataclass(frozen=True)
class _Layout:
    """Where things are in one word size; struct formats without the byte order."""

    header: str  # e_phoff, e_phentsize, e_phnum
    header_at: int
    segment: str  # p_type, p_offset, p_vaddr, p_filesz
    entry: str  # d_tag, d_val


# By EI_CLASS. Pads skip what nobody here needs.
_LAYOUTS = {
    1: _Layout("I10xHH", 28, "III4xI", "iI"),
    2: _Layout("Q14xHH", 32, "I4xQQ8xQ", "qQ"),
}
_ORDERS = {1: "<", 2: ">"}  # by EI_DATA


def soname(file: BinaryIO) -> str:
    """What a shared object calls itself, "" for anything else. ``file`` must seek."""
    try:
        return _soname(file)
    except (OSError, struct.error, ValueError, OverflowError):
        return ""


def _soname(file: BinaryIO) -> str:
    start = file.read(18)
    if len(start) < 18 or start[:4] != b"\x7fELF" or start[4] not in _LAYOUTS or start[5] not in _ORDERS:
        return ""
    layout, order = _LAYOUTS[start[4]], _ORDERS[start[5]]
    if struct.unpack_from(order + "H", start, 16)[0] != _SHARED:
        return ""
    segments = _segments(file, layout, order)
    dynamic = next((one for one in segments if one[0] == _DYNAMIC), None)
    if dynamic is None:
        return ""
    tags = dict(_entries(_at(file, dynamic[1], min(dynamic[3], _DYNAMIC_MAX)), order + layout.entry))
    if _STRINGS not in tags or _SONAME not in tags:
        return ""
    offset = _offset(segments, tags[_STRINGS])
    if offset is None:
        return ""
    name, end, _ = _at(file, offset + tags[_SONAME], _NAME_MAX).partition(b"\0")
    return name.decode("utf-8", "replace") if end else ""


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)


def _segments(file: BinaryIO, layout: _Layout, order: str) -> list[tuple[int, int, int, int]]:
    """Type, offset in the file, address, size in the file of each."""
    form = struct.Struct(order + layout.header)
    offset, size, count = form.unpack(_at(file, layout.header_at, form.size))
    entry = struct.Struct(order + layout.segment)
    found = []
    for index in range(min(count, _HEADERS_MAX)):
        kind, at, address, length = entry.unpack(_at(file, offset + index * size, entry.size))
        found.append((kind, at, address, length))
    return found


def _entries(data: bytes, form: str) -> list[tuple[int, int]]:
    whole = len(data) - len(data) % struct.calcsize(form)
    found: list[tuple[int, int]] = []
    for tag, value in struct.iter_unpack(form, data[:whole]):
        if tag == _END:
            break
        found.append((tag, value))
    return found


def _offset(segments: list[tuple[int, int, int, int]], address: int) -> int | None:
    """Where in the file an address is."""
    for kind, at, begin, length in segments:
        if kind == _LOAD and begin <= address < begin + length:
            return at + address - begin
    return None
