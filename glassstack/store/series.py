"""Per-second counts over the last minute."""

from glassstack.store.snapshot import SECONDS

SECOND_NS = 1_000_000_000


class Series:
    """Counts by whole second of CLOCK_MONOTONIC, bounded to SECONDS."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, ts: int, count: int = 1) -> None:
        """Counts ``count`` in the second of ``ts`` (ns)."""
        second = ts // SECOND_NS
        counts = self._counts
        if second in counts:
            counts[second] += count
            return
        counts[second] = count
        if len(counts) > 2 * SECONDS:
            for old in sorted(counts)[: len(counts) - SECONDS]:
                del counts[old]

    def spread(self, begin: int, end: int, count: int) -> None:
        """Counts what happened from ``begin`` to ``end`` (ns), each second getting its share."""
        while begin // SECOND_NS < end // SECOND_NS:
            border = (begin // SECOND_NS + 1) * SECOND_NS
            share = count * (border - begin) // (end - begin)
            self.add(begin, share)
            begin, count = border, count - share
        self.add(end, count)

    def last(self, now: int, started: int) -> tuple[int, ...]:
        """The whole seconds that ended by ``now`` (ns), oldest first, none from before ``started``."""
        end = now // SECOND_NS
        begin = max(end - SECONDS, started // SECOND_NS)
        return tuple(self._counts.get(second, 0) for second in range(begin, end))

    def copy(self) -> "Series":
        """An independent series with the same counts."""
        other = Series()
        other._counts = self._counts.copy()
        return other
