"""Follows launches: tells the kernel where the channels of a process are, and reads what became of them.

Owns the ring of uprobes.bpf.c and the table of places. The joining is
following.py's; which launches are told is the kernel's choice (SAMPLE).
"""

import ctypes
import time
from collections.abc import Callable
from typing import Any

import msgspec

from glassstack.collectors.bpf import following
from glassstack.collectors.bpf.following import Follower, Made, Place, Said
from glassstack.collectors.bpf.proc import contexts
from glassstack.collectors.bpf.ring import RingReader
from glassstack.collectors.completions import CompletionPoller
from glassstack.collectors.device import ContextIds
from glassstack.collectors.memory import UnreadableError
from glassstack.collectors.reach import Reach
from glassstack.collectors.spaces import Space, Spaces
from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.decoders.pages import decode_doorbells
from glassstack.model.entities import Launch
from glassstack.model.events import Completions, Event, Launches
from glassstack.model.values import Source

SAMPLE = "the first 10 of each 100 ms"
RING_PAGES = 64
SLOTS = 8
"""Channels with a ring that are looked at in each process."""
_CHUNK = 1 << 20
_OLD_NS = 60_000_000
"""Tracepoints are told for so long; then only the completion ring is left."""
_AGAIN_S = 1.0


class _Known:
    """The channels of a process as the kernel was told of them."""

    def __init__(self, version: int, found: list[tuple[Place, Space]], at: float) -> None:
        self.version = version
        self.found = found
        self.at = at


class Following:
    """The launches that are followed.

    Args:
        tables: the BPF object of uprobes.bpf.c.
        name: of a function by its number.
        wanted: whether a process is watched.
    """

    def __init__(self, tables: Any, name: Callable[[int], str], wanted: Callable[[int], bool]) -> None:
        self._places = tables["places"]
        told: Any = tables["told"]
        self._ring = RingReader(told.map_fd, RING_PAGES * 4096, following.SAID.size)
        self._name = name
        self._wanted = wanted
        self._follower = Follower()
        ids = ContextIds()
        self._spaces = Spaces(id_of=ids)
        self._pids: list[int] = []
        self._completions = CompletionPoller(lambda: self._pids, Reach(id_of=ids))
        self._known: dict[int, _Known] = {}
        self._owners: dict[tuple[int, int], int] = {}
        """(device, context) of the kernel's driver → process."""
        self._next = 0.0

    def turn(self) -> list[Event]:
        """Launches that ended, or were waited for in vain."""
        block = self._ring.read(_CHUNK)
        said = [Said(*record) for record in following.SAID.iter_unpack(bytes(block))]
        for one in said:
            if one.type == following.LAUNCH and self._wanted(one.pid):
                self._made(one)
        # The fence of a launch may be told before the launch has returned.
        for one in said:
            if one.type != following.LAUNCH:
                self._device(one)
        self._poll()
        found: dict[int, list[Launch]] = {}
        for pid, launch in self._follower.take(time.monotonic_ns()):
            found.setdefault(pid, []).append(launch)
        now = time.monotonic_ns()
        return [Launches(now, Source.EBPF, pid, tuple(some), SAMPLE) for pid, some in found.items()]

    def _made(self, said: Said) -> None:
        known = self._known.get(said.pid)
        launch = Launch(said.tid, self._name(said.device), said.ts, said.until)
        if said.moved == 0:
            if known is None or time.monotonic() - known.at > _AGAIN_S:
                self._tell(said.pid)
            new = known is None or said.context != known.version
            note = "its channel was not known yet" if new else ""
            self._follower.made(Made(said.pid, msgspec.structs.replace(launch, note=note)))
            return
        if said.moved > 1 or known is None or said.context != known.version:
            why = "several doorbells moved during it" if said.moved > 1 else "its channel was not known yet"
            self._follower.made(Made(said.pid, msgspec.structs.replace(launch, note=why)))
            return
        place, space = known.found[said.channel]
        launch = msgspec.structs.replace(
            launch,
            via="ring",
            device=place.device,
            context=place.context,
            channel=place.channel,
            wptr=said.wptr,
        )
        after, why = self._after(said, place, space)
        launch = msgspec.structs.replace(launch, note=why)
        self._follower.made(Made(said.pid, launch, place, after, said.rptr == said.before))

    def _after(self, said: Said, place: Place, space: Space) -> tuple[int | None, str]:
        """The seqno of the last fence queued before a launch, or why it can't be told."""
        if said.rptr == said.before:
            return said.seqno, ""
        queued = (said.before - said.rptr) % (1 << 32)
        why = f"{queued} B were queued before it, and overwritten before they could be read"
        mapping = space.rings().get(place.channel)
        if mapping is None:
            return None, why
        try:
            ring = space.read(uapi.OFF_RING + place.channel * uapi.RING_STRIDE, mapping.size)
            slots = decode_doorbells(space.read(uapi.OFF_DOORBELL, uapi.MAX_CHANNELS * uapi.SLOT))
            if (slots[place.channel] - said.rptr) % (1 << 32) > mapping.size:
                return None, why
            last = following.last_fence(ring, said.rptr, said.before)
        except (UnreadableError, ValueError):
            return None, why
        return said.seqno if last is None else last, ""

    def _tell(self, pid: int) -> None:
        """Gives the kernel the addresses of a process's doorbells and fences, where they are new."""
        self._spaces.forget(pid)
        old = self._known.get(pid)
        try:
            found = [
                (Place(pid, space.device, space.context, index), space)
                for space in self._spaces.of(pid)
                if space.mapped(uapi.OFF_DOORBELL) and space.mapped(uapi.OFF_FENCE)
                for index in sorted(space.rings())
            ][:SLOTS]
        except UnreadableError:
            return
        now = time.monotonic()
        if old is not None and [place for place, _ in old.found] == [place for place, _ in found]:
            old.at, old.found = now, found
            return
        known = self._known[pid] = _Known(old.version + 1 if old else 1, found, now)
        leaf = self._places.Leaf()
        leaf.version, leaf.count = known.version, len(found)
        for slot, (place, space) in zip(leaf.at, found, strict=False):
            slot.doorbell = _address(space, uapi.OFF_DOORBELL + place.channel * uapi.SLOT)
            slot.fence = _address(space, uapi.OFF_FENCE + place.channel * uapi.SLOT)
        self._places[ctypes.c_uint32(pid)] = leaf

    def _device(self, said: Said) -> None:
        """Something that the kernel's driver told."""
        device = f"/dev/fakegpu{said.device}"
        if said.type == following.SUBMIT:
            self._owners[said.device, said.context] = said.pid
        pid = self._owner(said.device, said.context)
        place = Place(pid, device, self._context(pid, device, said.context), said.channel)
        if said.type == following.SUBMIT:
            self._follower.submitted(said.tid, said.ts, place, said.seqno)
        elif said.type == following.DOORBELL:
            self._follower.doorbell(place, said.ts, said.wptr)
        elif said.type == following.START:
            self._follower.started(place, said.ts, said.seqno)
        elif said.type == following.FENCE:
            self._follower.signalled(place, said.ts, said.seqno)
        else:
            self._follower.faulted(place, said.ts, said.seqno)

    def _owner(self, device: int, context: int) -> int:
        key = (device, context)
        if key not in self._owners:
            for pid in {made.pid for made in self._follower.waiting}:
                self._owners.update(dict.fromkeys(contexts(pid), pid))
        return self._owners.setdefault(key, 0)

    def _context(self, pid: int, device: str, context: int) -> int:
        """The context by the name that its mappings go by, where the process has but one on the device."""
        known = self._known.get(pid)
        names = {place.context for place, _ in known.found if place.device == device} if known else set()
        return names.pop() if len(names) == 1 else context

    def _poll(self) -> None:
        """Completion rings of those who wait: the embedded device's at once, others where it takes long."""
        waiting = self._follower.waiting
        now = time.monotonic_ns()
        self._pids = sorted(
            {
                made.pid
                for made in waiting
                if self._embedded(made.pid) or now - made.launch.returned_ns > _OLD_NS
            }
        )
        if not self._pids:
            return
        for event in self._completions.sample():
            if isinstance(event, Completions):
                where = (event.pid, event.device, event.context)
                self._follower.completed(*where, event.entries)

    def _embedded(self, pid: int) -> bool:
        known = self._known.get(pid)
        spaces = [space for _, space in known.found] if known else []
        if not spaces:
            try:
                spaces = self._spaces.of(pid)
            except UnreadableError:
                return False
        return any(space.mappings[0].path.startswith("/memfd:") for space in spaces)

    def forget(self, pid: int) -> None:
        """A process has ended."""
        self._known.pop(pid, None)
        self._owners = {key: owner for key, owner in self._owners.items() if owner != pid}

    def close(self) -> None:
        """Unmaps the ring."""
        self._ring.close()


def _address(space: Space, offset: int) -> int:
    """Where the process has an offset of the space."""
    mapping = space.mapped(offset)
    return mapping.start + offset - mapping.offset if mapping else 0
