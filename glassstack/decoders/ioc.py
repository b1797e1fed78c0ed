"""ioctl numbers taken apart and put together: direction, type, number, size. Pure."""

from typing import NamedTuple

from glassstack.model.values import Scalar

NONE, WRITE, READ = 0, 1, 2
_DIRECTIONS = ("none", "write", "read", "read|write")


class Request(NamedTuple):
    """The four parts of an ioctl number; ``direction`` is a sum of WRITE and READ, as the program sees it."""

    direction: int
    type: int
    nr: int
    size: int


def split(request: int) -> Request:
    """Takes a number apart, as the generic _IOC encoding has it (x86-64, aarch64)."""
    return Request((request >> 30) & 3, (request >> 8) & 0xFF, request & 0xFF, (request >> 16) & 0x3FFF)


def join(direction: int, kind: int, nr: int, size: int) -> int:
    """The number of an ioctl."""
    return direction << 30 | size << 16 | kind << 8 | nr


def label(request: int) -> str:
    """The name of an ioctl that has none."""
    return f"ioctl 0x{request & 0xFFFFFFFF:08x}"


def raw_fields(request: int) -> dict[str, Scalar]:
    """What the number itself tells."""
    parts = split(request)
    letter = chr(parts.type)
    kind = f"0x{parts.type:02x}"
    if letter.isascii() and letter.isprintable():
        kind += f" '{letter}'"
    return {"dir": _DIRECTIONS[parts.direction], "type": kind, "nr": parts.nr, "size": parts.size}
