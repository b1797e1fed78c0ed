"""Joins what the API did with what the device did: a launch, and the job whose fence covers it. Pure.

A launch through a ring is covered by the first fence behind its packet: jobs
of a channel end in order, so that is the first one with a greater seqno than
the last fence that was queued before it. A launch by SUBMIT is the one job of
its process that was queued while the call lasted.
"""

import struct
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.model.entities import Completion, Launch

PATIENCE_NS = 1_000_000_000
"""After which a launch is told without a fence."""
SAID = struct.Struct("<8x3Q10I")
"""``struct said`` of uprobes.bpf.c with its header."""
LAUNCH, SUBMIT, DOORBELL, START, FENCE, FAULT = range(1, 7)
_WORD = 1 << 32
_HEAD = struct.Struct("=HH").unpack_from
_SEQNO = struct.Struct("=Q").unpack_from
_FENCE_OP = next(op for op, (name, _) in uapi.OPS.items() if name == "FENCE")
_KEPT = 1024


class Said(NamedTuple):
    """A record of uprobes.bpf.c."""

    ts: int
    until: int
    seqno: int
    type: int
    pid: int
    tid: int
    device: int
    context: int
    channel: int
    moved: int
    before: int
    wptr: int
    rptr: int


class Place(NamedTuple):
    """A channel: who has it, and where."""

    pid: int
    device: str
    context: int
    channel: int


class Made(NamedTuple):
    """A launch as the API has seen it. ``place`` is ``None`` where no doorbell moved.

    ``after`` is the seqno of the last fence queued before it, ``None`` where
    that could not be told; ``drained`` says that nothing was queued before it.
    """

    pid: int
    launch: Launch
    place: Place | None = None
    after: int | None = None
    drained: bool = False


class Ended(NamedTuple):
    """A job that has ended."""

    place: Place
    seqno: int
    queued: int | None
    start: int | None
    done: int
    status: int
    by: str


def last_fence(ring: bytes, rptr: int, end: int, most: int = 4096) -> int | None:
    """The seqno of the last FENCE between two positions of a ring, ``None`` for none.

    Raises:
        ValueError: what is there can't be packets.
    """
    found = None
    size = len(ring)
    for _ in range(most):
        left = (end - rptr) % _WORD
        if not left:
            return found
        at = rptr % size
        op, length = _HEAD(ring, at)
        if length < 8 or length % 8 or length > left or at + length > size:
            break
        if op == _FENCE_OP and length >= 16:
            (found,) = _SEQNO(ring, at + 8)
        rptr += length
    raise ValueError("no packets")


def covers(wptr: int, position: int) -> bool:
    """Whether a pointer has come as far as a position, both modulo 2**32."""
    return (wptr - position) % _WORD < _WORD // 2


class Follower:
    """Holds launches until their fence, and what the device said meanwhile."""

    def __init__(self) -> None:
        self._pending: list[Made] = []
        self._doorbells: dict[Place, deque[tuple[int, int]]] = {}
        self._starts: dict[tuple[Place, int], int] = {}
        self._submits: dict[int, deque[tuple[int, Place, int]]] = {}
        """Of each thread: when, on which context (its channel is not known), which seqno."""
        self._done: list[tuple[int, Launch]] = []

    @property
    def waiting(self) -> list[Made]:
        """Launches whose fence has not been seen."""
        return self._pending

    def made(self, made: Made) -> None:
        """A launch has returned."""
        self._pending.append(made)

    def take(self, now: int) -> list[tuple[int, Launch]]:
        """Launches that are told now, with their process: with a fence, or without one for too long."""
        late = [made for made in self._pending if now - made.launch.returned_ns > PATIENCE_NS]
        for made in late:
            self._pending.remove(made)
            self._done.append((made.pid, self._unfinished(made)))
        done, self._done = self._done, []
        return done

    def _unfinished(self, made: Made) -> Launch:
        known = self._with_doorbell(made, made.launch)
        note = made.launch.note
        if not note and made.place is None:
            note = "no doorbell moved and no job was queued by it"
        return _with(known, note=note or f"no fence within {PATIENCE_NS // 1_000_000} ms")

    # --- what the device did ----------------------------------------------

    def doorbell(self, place: Place, ts: int, wptr: int) -> None:
        """It has seen a doorbell."""
        self._doorbells.setdefault(place, deque(maxlen=_KEPT)).append((ts, wptr))

    def started(self, place: Place, ts: int, seqno: int) -> None:
        """It has begun a job."""
        self._starts[place, seqno] = ts
        while len(self._starts) > _KEPT:
            del self._starts[next(iter(self._starts))]

    def submitted(self, tid: int, ts: int, place: Place, seqno: int) -> None:
        """It has taken a SUBMIT of a thread."""
        self._submits.setdefault(tid, deque(maxlen=64)).append((ts, place, seqno))

    def signalled(self, place: Place, ts: int, seqno: int) -> None:
        """It has signalled a fence."""
        start = self._starts.pop((place, seqno), None)
        self._ended(Ended(place, seqno, None, start, ts, 0, "tracepoints"))

    def faulted(self, place: Place, ts: int, xid: int) -> None:
        """It has poisoned a context; the channel of ``place`` does not matter."""
        for made in [m for m in self._pending if m.place and m.place[:3] == place[:3]]:
            self._pending.remove(made)
            known = self._with_doorbell(made, made.launch)
            note = f"Xid {xid} poisoned its context"
            self._done.append((made.pid, _with(known, status=xid, by="tracepoints", note=note)))

    def completed(self, pid: int, device: str, context: int, entries: Iterable[Completion]) -> None:
        """New entries of a completion ring, in order."""
        for entry in entries:
            place = Place(pid, device, context, entry.channel)
            times = (entry.queued_ns, entry.start_ns, entry.done_ns)
            self._ended(Ended(place, entry.seqno, *times, entry.status, "completion ring"))

    def _ended(self, ended: Ended) -> None:
        for made in [made for made in self._pending if self._is_of(made, ended)]:
            self._pending.remove(made)
            # The UMD numbers its fences one by one: another number means that one has escaped us.
            if made.after is not None and ended.seqno != made.after + 1:
                note = "its fence was not seen: it was overwritten before it could be read"
                self._done.append((made.pid, _with(made.launch, note=note)))
            else:
                self._done.append((made.pid, self._whole(made, ended)))

    def _is_of(self, made: Made, ended: Ended) -> bool:
        launch = made.launch
        if made.pid != ended.place.pid or ended.done < launch.called_ns:
            return False
        if made.place is not None:
            return made.place == ended.place and made.after is not None and ended.seqno > made.after
        if launch.note:  # it may have gone through a ring that nobody looked at
            return False
        if ended.queued is not None:
            return launch.called_ns <= ended.queued <= launch.returned_ns
        return any(
            launch.called_ns <= ts <= launch.returned_ns
            and place[:3] == ended.place[:3]
            and seqno == ended.seqno
            for ts, place, seqno in self._submits.get(launch.tid, ())
        )

    def _whole(self, made: Made, ended: Ended) -> Launch:
        launch = made.launch
        ring = made.place is not None
        seen = self._with_doorbell(made, launch).doorbell_ns
        if seen is None and ended.queued is not None:
            # Its doorbell for certain: seen after the store, or the one that opened a job which is its own.
            own = made.drained and ended.start is not None and ended.start >= launch.called_ns
            if not ring or ended.queued >= launch.returned_ns or (own and ended.queued >= launch.called_ns):
                seen = ended.queued
        if not ring and seen is None:
            seen = next(
                (ts for ts, _, seqno in self._submits.get(launch.tid, ()) if seqno == ended.seqno), None
            )
        where = ended.place
        return _with(
            launch,
            via="ring" if ring else "submit",
            device=where.device,
            context=where.context,
            channel=where.channel,
            seqno=ended.seqno,
            doorbell_ns=seen,
            start_ns=ended.start,
            done_ns=ended.done,
            status=ended.status,
            by=ended.by,
            note="",
        )

    def _with_doorbell(self, made: Made, launch: Launch) -> Launch:
        if made.place is None or launch.wptr is None:
            return launch
        for ts, wptr in self._doorbells.get(made.place, ()):
            if ts >= launch.called_ns and covers(wptr, launch.wptr):
                return _with(launch, doorbell_ns=ts)
        return launch


def _with(launch: Launch, **changes: object) -> Launch:
    fields = {name: getattr(launch, name) for name in launch.__struct_fields__}
    return Launch(**{**fields, **changes})
