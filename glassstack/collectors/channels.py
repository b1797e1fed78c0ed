"""Progress of channels seen from outside: doorbell and fence slots, and rings with their packets.

Owns the sampling of the shared pages; the program is never stopped for it and
makes no syscall that could be traced instead.
"""

import time
from collections.abc import Callable, Iterable

from glassstack.collectors.memory import GoneError, UnreadableError
from glassstack.collectors.spaces import Identity, Space, Spaces
from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.decoders.packets import decode_ring
from glassstack.decoders.pages import Fence, decode_doorbells, decode_fences
from glassstack.model.entities import Capability, Channel
from glassstack.model.events import Channels, Event, Ring
from glassstack.model.values import Source

_PAGE_USED = uapi.MAX_CHANNELS * uapi.SLOT
_TRIES = 3
_WRITE_AHEAD = 1024
"""Bytes that a program is taken to write before it rings the doorbell."""
_RING_KEY = tuple[int, str, int, int]


class ChannelPoller:
    """Samples the channels of the processes that ``pids`` names.

    Args:
        spaces: where the mappings come from; shared with other pollers.
        rings: read the rings too.
    """

    name = "channels"

    def __init__(
        self,
        pids: Callable[[], Iterable[int]],
        spaces: Spaces | None = None,
        rings: bool = True,
        period: float = 0.25,
    ) -> None:
        self.period = period
        self._pids = pids
        self._spaces = spaces or Spaces()
        self._rings = rings
        self._told: set[int] = set()
        """Processes that have had channels."""
        self._teller: dict[Identity, int] = {}
        """The process that a context goes by: while it has it, no other that shares it."""
        self._ring_at: dict[_RING_KEY, tuple[int, int]] = {}

    def probe(self) -> Capability:
        """Ready always; a process that can't be read says so in its own event."""
        return Capability(self.name, True, "processes of this user; root sees everybody's")

    def sample(self) -> list[Event]:
        """Channels of each process that has some, and the rings that moved."""
        events: list[Event] = []
        pids = sorted(set(self._pids()))
        self._spaces.keep(pids)
        self._told &= set(pids)
        self._teller = {key: pid for key, pid in self._teller.items() if self._has(pid, key, pids)}
        for pid in pids:
            events += self._of(pid)
        self._ring_at = {key: at for key, at in self._ring_at.items() if key[0] in self._told}
        return events

    def _has(self, pid: int, key: Identity, pids: list[int]) -> bool:
        """Whether it still maps the context."""
        try:
            return pid in pids and any(space.identity == key for space in self._spaces.of(pid))
        except UnreadableError as error:
            return not isinstance(error, GoneError)

    def _of(self, pid: int) -> list[Event]:
        ts = time.monotonic_ns()
        try:
            try:
                found = self._look(pid)
            except GoneError:
                raise
            except UnreadableError:
                # It may have taken its mappings away since they were listed.
                self._spaces.forget(pid)
                found = self._look(pid)
        except GoneError:
            return []  # its end is told by who traces it; until then the last look stands
        except UnreadableError as error:
            self._told.add(pid)
            return [Channels(ts, Source.POLL, pid, (), f"doorbells and fences: {error}")]
        channels = tuple(channel for _, some in found for channel in some)
        if not channels and pid not in self._told:
            return []
        self._told.add(pid)
        rings = [ring for space, some in found for ring in self._moved_rings(space, some)]
        return [Channels(ts, Source.POLL, pid, channels), *rings]

    def _look(self, pid: int) -> list[tuple[Space, list[Channel]]]:
        """Each context of a process that goes by no other: a fork shares its parent's."""
        found = []
        for space in self._spaces.of(pid):
            if self._teller.get(space.identity, pid) == pid and space.mapped(uapi.OFF_FENCE):
                found.append((space, channels_of(space)))
        self._teller.update((space.identity, pid) for space, _ in found)
        return found

    def _moved_rings(self, space: Space, channels: list[Channel]) -> list[Event]:
        events: list[Event] = []
        for channel in channels if self._rings else ():
            key = (space.pid, space.device, space.context, channel.index)
            pointers = (channel.wptr, channel.rptr)
            if not channel.ring_size or self._ring_at.get(key) == pointers:
                continue
            try:
                ring = read_ring(space, channel)
            except UnreadableError:
                continue  # taken away meanwhile; the next look says so
            if ring is not None:
                self._ring_at[key] = pointers
                events.append(ring)
        return events


def _pages(space: Space) -> tuple[list[int], list[Fence]]:
    """wptr and fence of each slot, as they were at about the same moment.

    rptr is read first, so it can't be ahead; a wptr too far ahead means that
    both moved on in between, unless it stays so.
    """
    rings = space.rings()
    for _ in range(_TRIES):
        fences = decode_fences(space.read(uapi.OFF_FENCE, _PAGE_USED))
        if space.mapped(uapi.OFF_DOORBELL) is None:
            return [fence.rptr for fence in fences], fences
        wptrs = decode_doorbells(space.read(uapi.OFF_DOORBELL, _PAGE_USED))
        if all((wptrs[i] - fences[i].rptr) % 2**32 <= ring.size for i, ring in rings.items()):
            break
    return wptrs, fences


def channels_of(space: Space) -> list[Channel]:
    """The channels of a context that have a ring or have ever done something.

    Raises:
        UnreadableError: with the reason; GoneError when the process has ended.
    """
    wptrs, fences = _pages(space)
    rings = space.rings()
    return [
        Channel(
            pid=space.pid,
            device=space.device,
            context=space.context,
            index=index,
            wptr=wptr,
            rptr=fence.rptr,
            seqno=fence.seqno,
            doorbells=fence.doorbells,
            jobs=fence.jobs,
            done_ns=fence.done_ns,
            error=fence.error,
            ring_size=rings[index].size if index in rings else 0,
        )
        for index, (wptr, fence) in enumerate(zip(wptrs, fences, strict=True))
        if index in rings or wptr or fence.used
    ]


def read_ring(space: Space, channel: Channel) -> Ring | None:
    """The ring of a channel with its packets; ``None`` when the program writes faster than it can be read.

    Raises:
        UnreadableError: with the reason; GoneError when the process has ended.
    """
    size, slot = channel.ring_size, channel.index
    for _ in range(_TRIES):
        wptrs, fences = _pages(space)
        wptr, rptr = wptrs[slot], fences[slot].rptr
        data = space.read(uapi.OFF_RING + slot * uapi.RING_STRIDE, size)
        now = _pages(space)[0][slot]
        written = (now - rptr) % 2**32
        if written <= size or now == wptr:
            # What comes before rptr may be written over before the doorbell tells of it.
            done = rptr % size + written + _WRITE_AHEAD <= size
            packets = decode_ring(data, wptr, rptr, done)
            where = (space.pid, space.device, space.context, slot)
            return Ring(time.monotonic_ns(), Source.POLL, *where, size, wptr, rptr, packets)
    return None
