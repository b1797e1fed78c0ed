"""Which calls match a filter, found a little at a time so that the keyboard never waits."""

import time
from bisect import bisect_left
from collections.abc import Callable

from glassstack.store.snapshot import Snapshot
from glassstack.tui.filter import call_test

_CHUNK = 250


class Matches:
    """Numbers of the calls that match, in order.

    The newest calls are looked at first, so that a flood which can't be
    searched whole still shows what is new; ``left`` says how many calls that
    are held have not been looked at.
    """

    def __init__(self, text: str, clock: Callable[[], float] = time.perf_counter) -> None:
        self.numbers: list[int] = []
        self._test = call_test(text)
        self._clock = clock
        self._end = 0
        self._ranges: list[tuple[int, int]] = []  # not looked at, oldest first

    @property
    def left(self) -> int:
        """Calls not looked at yet."""
        return sum(end - begin for begin, end in self._ranges)

    def update(self, snapshot: Snapshot, seconds: float = 0.012) -> None:
        """Takes in new calls and searches for about ``seconds``."""
        self._note(snapshot)
        deadline = self._clock() + seconds
        while self._ranges:
            begin, end = self._ranges.pop()
            middle = max(begin, end - _CHUNK)
            self._search(snapshot, middle, end)
            if begin < middle:
                self._ranges.append((begin, middle))
            if self._clock() >= deadline:
                return

    def _note(self, snapshot: Snapshot) -> None:
        first, end = snapshot.calls.first, snapshot.calls_end
        if end < self._end:  # a recording went back
            self._end = 0
            self._ranges.clear()
            self.numbers.clear()
        if end > self._end:
            self._ranges.append((self._end, end))
            self._end = end
        self._ranges = [(max(begin, first), stop) for begin, stop in self._ranges if stop > first]
        if self.numbers and self.numbers[0] < first:
            del self.numbers[: bisect_left(self.numbers, first)]

    def _search(self, snapshot: Snapshot, begin: int, end: int) -> None:
        get, test = snapshot.calls.get, self._test
        found = [n for n in range(begin, end) if (call := get(n)) is not None and test(call)]
        if found:
            place = bisect_left(self.numbers, begin)
            self.numbers[place:place] = found
