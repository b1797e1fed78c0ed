"""Ioctls of /dev/nvidiactl and /dev/nvidiaN: name, members, class and command names, NV_STATUS. Pure."""

import struct
from typing import NamedTuple

from glassstack.decoders import ioc
from glassstack.decoders.nvidia import table_params as params
from glassstack.decoders.nvidia.rows import ANY, Fields, Layout, Version, choose, parse
from glassstack.decoders.nvidia.table_classes import CLASSES, KINDS
from glassstack.decoders.nvidia.table_controls import CONTROLS
from glassstack.decoders.nvidia.table_escapes import ESCAPES, XFER
from glassstack.decoders.nvidia.table_status import status_text

TYPE = ord("F")
RM_ALLOC, RM_CONTROL = 0x2B, 0x2A
NESTED_MAX = 4096

ROWS = parse(ESCAPES)
NAMES = {number: rows[-1].name for number, rows in ROWS.items()}
_PARAMS = parse(params.PARAMS)
_CHANNEL = parse(params.CHANNEL)[0]
_MEMORY = parse(params.MEMORY)[0]
_xfer = struct.Struct("=IIQ").unpack_from
_u32 = struct.Struct("=I").unpack_from
_u64 = struct.Struct("=Q").unpack_from


class Nested(NamedTuple):
    """Memory that an argument points to; ``again``: it is to be read after the call too."""

    address: int
    length: int
    again: bool = False


def params_of(number: int) -> tuple[Layout, ...]:
    """The layouts of a class's allocation parameters, () where none is known."""
    if KINDS.get(CLASSES.get(number, "")) == "channel":
        return _CHANNEL
    return _MEMORY if number in params.MEMORY_CLASSES else _PARAMS.get(number, ())


def nested_of(request: int, before: bytes) -> Nested | None:
    """What the argument of a call points to and a decoder wants to see."""
    parts = ioc.split(request)
    if parts.nr == XFER and len(before) >= 16:
        _, size, address = _xfer(before)
        return Nested(address, min(size, NESTED_MAX), True)
    if parts.nr == RM_ALLOC and len(before) >= 24:
        rows = params_of(_u32(before, 12)[0])
        (address,) = _u64(before, 16)
        if rows and address:
            return Nested(address, max(row.size for row in rows))
    return None


def name_of(request: int) -> str:
    """The name of a number on a frontend node; marked with "?" where size or direction are no driver's."""
    parts = ioc.split(request)
    rows = ROWS.get(parts.nr) if parts.type == TYPE else None
    if rows is None:
        return ioc.label(request)
    name = rows[-1].name
    return name if any(row.fits(parts.size) for row in rows) else f"{name}?"


def raw(request: int) -> Fields:
    """What is told of a number without a name: its parts, and that nobody here knows it."""
    parts = ioc.split(request)
    return {**ioc.raw_fields(request), "unknown": f"escape 0x{parts.nr:02x} type 0x{parts.type:02x}"}


def _status(fields: Fields, layout: Layout, after: bytes) -> None:
    if layout.why:
        fields["nv_status"] = layout.why
    elif layout.status is not None and after:
        if layout.status + 4 > len(after):
            fields["nv_status"] = f"missing: {len(after)} bytes could be read, it is at {layout.status}"
        else:
            fields["nv_status"] = status_text(_u32(after, layout.status)[0])


def _params(fields: Fields, before: bytes, payload: bytes, driver: Version) -> None:
    rows = params_of(_u32(before, 12)[0]) if len(before) >= 16 else ()
    layout = choose(rows, None, driver) if rows else None
    if layout is None:
        return
    if payload:
        layout.into(fields, payload, b"")
    elif fields.get("params"):
        fields["parameters"] = "missing: could not be read"


def _unknown(fields: Fields, number: int, before: bytes) -> None:
    """Says which class or command has no name here, so that it can be counted and listed."""
    at, known = {RM_ALLOC: (12, CLASSES), RM_CONTROL: (8, CONTROLS)}.get(number, (0, None))
    if known is not None and len(before) >= at + 4:
        (value,) = _u32(before, at)
        if value not in known:
            fields["unknown"] = f"{'class' if number == RM_ALLOC else 'control'} 0x{value:x}"


def decode(
    request: int, before: bytes, after: bytes, payload: bytes, ret: int, driver: Version
) -> tuple[str, Fields]:
    """Name and fields; see registry.decode_ioctl for the arguments."""
    parts = ioc.split(request)
    if parts.type == TYPE and parts.nr == XFER and len(before) >= 16:
        number, size, _ = _xfer(before)
        inner, answer = payload, after[16:]
        name, fields = _decode(number, size, inner, answer, b"", ret, driver)
        fields["via"] = "XFER_CMD"
        return name, fields
    if parts.type != TYPE or parts.nr not in ROWS:
        return ioc.label(request), raw(request)
    return _decode(parts.nr, parts.size, before, after, payload, ret, driver)


def _decode(
    number: int, size: int, before: bytes, after: bytes, payload: bytes, ret: int, driver: Version
) -> tuple[str, Fields]:
    rows = ROWS.get(number)
    if rows is None:
        return f"escape 0x{number:x}", {"size": size, "unknown": f"escape 0x{number:02x}"}
    layout = choose(rows, size, driver)
    name = rows[-1].name
    if layout is None:
        known = ", ".join(dict.fromkeys(str(row.size) for row in rows if row.size != ANY))
        text = f"size {size} of {name}"
        return f"{name}?", {"argument": f"{size} bytes; known are {known}", "unknown": text}
    fields: Fields = {}
    answer = after if ret >= 0 else b""
    if layout.array:
        fields["entries"] = layout.rows(answer or before)
    else:
        layout.into(fields, before, answer)
    if number == RM_ALLOC:
        _params(fields, before, payload, driver)
    _unknown(fields, number, before)
    _status(fields, layout, answer)
    return name, fields
