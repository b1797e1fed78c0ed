"""fakegpu's shared pages: doorbell slots, fence slots, completion ring. Bytes to model, pure."""

import struct
from typing import NamedTuple

from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.model.entities import Completion

_FENCE = struct.Struct("=QIIQQQ").unpack_from
_WPTR = struct.Struct("=I").unpack_from
_HEAD = struct.Struct("=IIQ").unpack_from
_ENTRY = struct.Struct("=QQQQIIQ").unpack_from
HEAD_SIZE = uapi.layout("completion_head").size


class Fence(NamedTuple):
    """A fence slot; ``done_ns`` is CLOCK_MONOTONIC, ``error`` 0 or an Xid."""

    seqno: int
    rptr: int
    error: int
    doorbells: int
    jobs: int
    done_ns: int

    @property
    def used(self) -> bool:
        """Whether a channel has ever left something here."""
        return any(self)


class CompletionHead(NamedTuple):
    """The head of the completion ring."""

    entries: int
    entry_size: int
    written: int

    @property
    def valid(self) -> bool:
        """Whether entries of this shape fit into the ring's memory."""
        room = uapi.COMPLETION_SIZE - HEAD_SIZE
        return (
            uapi.layout("completion").size <= self.entry_size and 0 < self.entries * self.entry_size <= room
        )


def decode_doorbells(page: bytes) -> list[int]:
    """wptr of each whole slot of a doorbell page."""
    slots = min(len(page) // uapi.SLOT, uapi.MAX_CHANNELS)
    return [_WPTR(page, slot * uapi.SLOT)[0] for slot in range(slots)]


def decode_fences(page: bytes) -> list[Fence]:
    """Each whole slot of a fence page."""
    slots = min(len(page) // uapi.SLOT, uapi.MAX_CHANNELS)
    return [Fence(*_FENCE(page, slot * uapi.SLOT)) for slot in range(slots)]


def decode_completion_head(data: bytes) -> CompletionHead | None:
    """The head, ``None`` where it is cut short."""
    return CompletionHead(*_HEAD(data)) if len(data) >= HEAD_SIZE else None


def decode_completion(data: bytes) -> Completion | None:
    """One entry, ``None`` where it is cut short."""
    if len(data) < uapi.layout("completion").size:
        return None
    seqno, queued, start, done, channel, status, size = _ENTRY(data)
    return Completion(seqno, channel, queued, start, done, status, size)
