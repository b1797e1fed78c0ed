"""Arguments of NVIDIA's ioctls as a program would write them. Imported as ``from tests import nvidia``."""

from __future__ import annotations

import struct

from glassstack.decoders import ioc

CTL, GPU, UVM = "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"


def request(number: int, size: int) -> int:
    """The number of a frontend ioctl."""
    return ioc.join(3, ord("F"), number, size)


def put(size: int, *values: tuple[int, str, int | bytes]) -> bytes:
    """``size`` bytes with values of struct's code at offsets."""
    data = bytearray(size)
    for offset, code, value in values:
        struct.pack_into("=" + code, data, offset, value)
    return bytes(data)


def alloc(size: int, root: int, parent: int, new: int, kind: int, params: int = 0, status: int = 0) -> bytes:
    """RM_ALLOC in the layout of 535 and newer (32 or 48 bytes), or of 525 and 530 (40 bytes)."""
    at = {32: 28, 40: 36, 48: 40}[size]
    head = ((0, "I", root), (4, "I", parent), (8, "I", new), (12, "I", kind), (16, "Q", params))
    return put(size, *head, (at, "I", status))


def control(client: int, target: int, cmd: int, status: int = 0) -> bytes:
    """RM_CONTROL."""
    return put(32, (0, "I", client), (4, "I", target), (8, "I", cmd), (28, "I", status))


def map_memory(client: int, memory: int, fd: int, length: int, status: int = 0) -> bytes:
    """RM_MAP_MEMORY."""
    return put(
        56, (0, "I", client), (8, "I", memory), (24, "Q", length), (40, "I", status), (48, "i", fd)
    )  # fmt: skip


def check_version(text: bytes, reply: int = 0) -> bytes:
    """CHECK_VERSION_STR."""
    return put(72, (4, "I", reply), (8, "64s", text))
