"""Out of a stream of bytes the lines that may matter, with their numbers, at the speed of a search in C.

Owns the coarse words. A line is passed on when it has one of them, or stands
within NEAR lines after one that has: tables and values have no word of their own.
"""

import ctypes
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from glassstack.diagnose.intake import CHUNK, Stream

NEAR, NEAR_KERNEL = 8, 3
"""Lines passed on after a line with a coarse word; after a kernel message fewer, as its parts have it too."""
CARRY_MAX = 1 << 20
COARSE = (
    b"nvidia",
    b"nvrm",
    b"nvml",
    b"cuda",
    b"xid",
    b"gpu",
    b"fabric",
    b"oom",
    b"blocked",
    b"avc:",
    b"xserver_misc",
    b"cgroup",
    b":/",
    b"195:",
    b"mlock",
    b"locked memory",
    b"ulimit",
    b"rejected",
    b"required key",
    b"trusted key",
    b"nouveau",
    b"ibv_",
    b"suspend",
    b"insufficient",
    b"kubelet",
    b"clock_gettime",
    b"bpf_",
    b"state:d",
    b"microsoft-standard",
    b"max_map_count",
    b"default-runtime",
    b"default_runtime",
    b"memory.max",
    b"memorymax",
    b"secure",
    b"not yet init",
    b"unable to pin",
    b"rootless",
    b"unattended",
    b"reboot",
    b"daemon-reload",
    b"cpu-manager",
    b"cpumanager",
    b"0x46",
    b"no devices were",
    b"cdi ",
)
"""In lower case. Each line that a pattern knows has one of them, or stands near a line that has."""


_KERNEL = (b"nvrm", b"xid", b"oom", b"blocked", b"avc:")


class Raw(NamedTuple):
    """A line as read, without its end."""

    number: int
    data: bytes


def _finder() -> Callable[[bytes, bytes], bool]:
    """The C library's search: it skips through noise several times as fast as the interpreter's."""
    try:
        memmem = ctypes.CDLL(None).memmem
    except (OSError, AttributeError):
        return lambda data, word: word in data
    memmem.restype = ctypes.c_void_p
    memmem.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return lambda data, word: memmem(data, len(data), word, len(word)) is not None


_present = _finder()


def interesting(stream: Stream) -> Iterator[Raw]:
    """The lines of a stream that may matter, in order; memory stays at about two chunks."""
    number, carry, owed = 0, b"", 0
    while data := stream.read(CHUNK):
        data = carry + data
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) < CARRY_MAX:
            carry = data
            continue
        cut = cut or len(data)
        block, carry = data[:cut], data[cut:]
        owed = yield from _block(block, number, owed)
        number += block.count(b"\n")
    if carry:
        yield from _block(carry, number, owed)


def _block(block: bytes, number: int, owed: int) -> Generator[Raw, None, int]:
    """Lines of a block of whole lines; returns how many of the next block's lines are owed."""
    position = 0
    for hit, near in (*_hits(block).items(), (len(block), 0)):
        while owed and position < hit:
            end = _end(block, position)
            number, owed = number + 1, owed - 1
            yield Raw(number, block[position:end])
            position = end + 1
        if hit >= len(block):
            break
        number += block.count(b"\n", position, hit) + 1
        end = _end(block, hit)
        yield Raw(number, block[hit:end])
        position, owed = end + 1, max(near, owed - 1)
    return owed


def _hits(block: bytes) -> dict[int, int]:
    """Where the lines with a coarse word start, in order, and how many lines to pass on after each."""
    low = block.lower()
    starts: dict[int, int] = {}
    for word in COARSE:
        if not _present(low, word):
            continue
        near = NEAR_KERNEL if word in _KERNEL else NEAR
        found = low.find(word)
        while found >= 0:
            start = low.rfind(b"\n", 0, found) + 1
            starts[start] = max(near, starts.get(start, 0))
            found = low.find(word, _end(low, found))
    return dict(sorted(starts.items()))


def _end(block: bytes, position: int) -> int:
    end = block.find(b"\n", position)
    return len(block) if end < 0 else end
