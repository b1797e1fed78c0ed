"""Numbers about channels out of snapshots: rates over time, latency distributions, a lane of work. Pure."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from glassstack.model.entities import Channel, Completion
from glassstack.store.snapshot import Snapshot

_SPAN_NS = 2_000_000_000
Key = tuple[int, str, int, int]


def channel_key(channel: Channel) -> Key:
    """What tells channels apart."""
    return (channel.pid, channel.device, channel.context, channel.index)


class ChannelRates:
    """Doorbells and jobs a second per channel, from pictures of the last two seconds.

    Fed with the pictures that are shown; forgets them when time goes back.
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[int, dict[Key, tuple[int, int]]]] = deque()

    def add(self, s: Snapshot) -> None:
        """Takes note of a picture."""
        if self._seen and s.ts < self._seen[-1][0]:
            self._seen.clear()
        if self._seen and s.ts == self._seen[-1][0]:
            return
        self._seen.append((s.ts, {channel_key(c): (c.doorbells, c.jobs) for c in s.channels}))
        while len(self._seen) > 2 and s.ts - self._seen[1][0] >= _SPAN_NS:
            self._seen.popleft()

    def of(self, channel: Channel) -> tuple[float, float] | None:
        """Doorbells and jobs a second, ``None`` before two pictures of it were seen."""
        key = channel_key(channel)
        held = [(ts, counters[key]) for ts, counters in self._seen if key in counters]
        if len(held) < 2:
            return None
        (begin, old), (end, new) = held[0], held[-1]
        seconds = (end - begin) / 1e9
        return (new[0] - old[0]) / seconds, (new[1] - old[1]) / seconds


@dataclass(frozen=True)
class Histogram:
    """Counts by power of two: bucket i holds values from ``low * 2**i`` (ns) up to the double."""

    low: int
    counts: tuple[int, ...]

    @property
    def high(self) -> int:
        """End of the last bucket in ns."""
        return int(self.low * 2 ** len(self.counts))


def histogram(values: Sequence[int]) -> Histogram | None:
    """The distribution of durations in ns."""
    logs = [max(value, 1).bit_length() - 1 for value in values]
    if not logs:
        return None
    low, high = min(logs), max(logs)
    counts = [0] * (high - low + 1)
    for log in logs:
        counts[log - low] += 1
    return Histogram(2**low, tuple(counts))


def lane(entries: Sequence[Completion], begin: int, end: int, cells: int) -> list[int]:
    """How busy the entries kept the engine: per cent of each cell from ``begin`` to ``end`` (ns)."""
    per_cell = max(1, (end - begin) // cells)
    busy = [0] * cells
    for entry in entries:
        start, done = max(entry.start_ns, begin), min(entry.done_ns, end)
        first, last = (start - begin) // per_cell, (done - begin) // per_cell
        for cell in range(max(0, first), min(cells - 1, last) + 1):
            left = begin + cell * per_cell
            busy[cell] += max(0, min(done, left + per_cell) - max(start, left))
        if start <= done and 0 <= first < cells:
            busy[first] = max(busy[first], 1)
    return [min(100, -(-100 * work // per_cell)) for work in busy]
