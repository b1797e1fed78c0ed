"""Ioctls of /dev/nvidia-uvm: bare integers, so the driver's version decides the layout. Pure."""

import struct

from glassstack.decoders import ioc
from glassstack.decoders.nvidia.rows import ANY, GONE, Fields, Version, choose, parse
from glassstack.decoders.nvidia.table_status import status_text
from glassstack.decoders.nvidia.table_uvm import UVM

ROWS = parse(UVM)
NAMES = {number: rows[-1].name for number, rows in ROWS.items()}
_u32 = struct.Struct("=I").unpack_from


def name_of(request: int) -> str:
    """The name of a number on a UVM node; the number where it has none."""
    return NAMES.get(request) or ioc.label(request)


def size_of(request: int) -> int:
    """Bytes of the argument, of the largest layout that there is; 0 where nobody knows."""
    sizes = [row.size for row in ROWS.get(request, ()) if row.size not in (ANY, GONE)]
    return max(sizes, default=0)


def decode(request: int, before: bytes, after: bytes, ret: int, driver: Version) -> tuple[str, Fields]:
    """Name and fields; see registry.decode_ioctl for the arguments."""
    rows = ROWS.get(request)
    if rows is None:
        # Taking a bare integer apart would only mislead.
        return ioc.label(request), {
            "request": request,
            "unknown": f"uvm {request}" if request < 4096 else f"uvm 0x{request:x}",
        }
    layout = choose(rows, None, driver)
    name = rows[-1].name
    if layout is None:
        return f"{name}?", {"request": request, "unknown": f"{name} with this driver"}
    fields: Fields = {}
    answer = after if ret >= 0 else b""
    layout.into(fields, before, answer)
    if layout.why:
        fields["nv_status"] = layout.why
    elif layout.status is not None and answer:
        if layout.status + 4 <= len(answer):
            fields["nv_status"] = status_text(_u32(answer, layout.status)[0])
        else:
            fields["nv_status"] = f"missing: {len(answer)} bytes could be read"
    return name, fields
