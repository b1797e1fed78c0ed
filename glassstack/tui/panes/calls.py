"""Calls across the boundary: a window onto the call log, which may hold a hundred thousand.

A row is made when it is looked at; nothing is kept per call. With a filter
only the numbers of matching calls are kept, found a slice at a time.
"""

import time
from bisect import bisect_left

from textual.timer import Timer

from glassstack.format import fields, units
from glassstack.model.events import Syscall
from glassstack.store.snapshot import Snapshot
from glassstack.tui.callrow import call_row, table
from glassstack.tui.draw import Row, row
from glassstack.tui.filter import call_test
from glassstack.tui.look import Look
from glassstack.tui.matches import Matches
from glassstack.tui.moment import calls_near
from glassstack.tui.pane import Drawing, Pane, View

_SEARCH_AGAIN = 0.1  # seconds
_IN_FLIGHT_NS = 100_000_000
_IN_FLIGHT_MOST = 3


class CallBody:
    """The calls of a snapshot as rows: all of them, or those with the given numbers."""

    def __init__(self, snapshot: Snapshot, width: int, numbers: list[int] | None = None) -> None:
        self._s = snapshot
        self._width = width
        self._table = table(width)
        self._numbers = numbers
        self._first = snapshot.calls.first

    def __len__(self) -> int:
        return self._s.calls_end - self._first if self._numbers is None else len(self._numbers)

    def __getitem__(self, index: int, /) -> Row:
        number = self._first + index if self._numbers is None else self._numbers[index]
        call = self._s.calls.get(number)
        if call is None:
            return row((f"call {number} is no longer held", "dim"))
        return call_row(self._table, self._width, self._s.started, call, number)

    def call(self, index: int) -> Syscall | None:
        """The call of a row."""
        number = self._first + index if self._numbers is None else self._numbers[index]
        return self._s.calls.get(number)

    def find(self, number: object) -> int | None:
        """Index of the call with that number."""
        if not isinstance(number, int):
            return None
        if self._numbers is None:
            return number - self._first if self._first <= number < self._s.calls_end else None
        index = bisect_left(self._numbers, number)
        return index if index < len(self._numbers) and self._numbers[index] == number else None


def in_flight_rows(s: Snapshot) -> list[Row]:
    """Calls that have not returned for a while: what a hang looks like from outside."""
    old = sorted((c for c in s.in_flight if s.ts - c.since >= _IN_FLIGHT_NS), key=lambda c: c.since)
    return [
        row(
            (f"in flight {units.duration(s.ts - c.since)}", "warn"),
            f"  {c.pid}/{c.tid}  ",
            (c.name, "name"),
            f"  {fields.line(c.fields)}",
        )
        for c in old[:_IN_FLIGHT_MOST]
    ]


class CallsPane(Pane):
    """The calls, newest last; Enter shows every field, plain words and NVIDIA's counterpart."""

    PERIOD = 0.45
    TAIL = True

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, id=id)
        self._matches: Matches | None = None
        self._again: Timer | None = None

    def draw(self, view: View) -> Drawing:
        return Drawing([table(view.width).head(), *in_flight_rows(view.snapshot)], ())

    def redraw(self) -> None:
        if self.snapshot is None or not self.size.height:
            return
        view = self.view
        self.head = self.draw(view).head
        self.body = CallBody(view.snapshot, view.width, self._matching(view.snapshot))
        if not len(self.body):
            words = "no call matches" if self.filter else "no calls yet"
            self.head = [*self.head, row((words, "dim"))]
        self.settle()

    def _matching(self, snapshot: Snapshot) -> list[int] | None:
        """Numbers of the calls to show; what is not searched yet is said, and searched soon."""
        if self._matches is None:
            return None
        began = time.monotonic()
        self._matches.update(snapshot)
        if self._matches.left:
            left = units.grouped(self._matches.left)
            self.head = [*self.head, row((f"searching, {left} calls to go", "warn"))]
            if self._again is None:
                pause = max(_SEARCH_AGAIN, 5 * (time.monotonic() - began))
                self._again = self.set_timer(pause, self._search_on)
        return self._matches.numbers

    def _search_on(self) -> None:
        self._again = None
        self.redraw()

    def set_filter(self, text: str) -> None:
        self._matches = Matches(text) if text else None
        super().set_filter(text)

    def find_key(self, key: object) -> int | None:
        return self.body.find(key) if isinstance(self.body, CallBody) else None

    def enter_moment(self, snapshot: Snapshot, moment: int | None) -> None:
        """Puts the cursor on the call nearest to the moment."""
        if moment is None:
            return
        best = min(calls_near(snapshot, moment), key=lambda near: abs(near[1].ts - moment), default=None)
        if best is not None:
            self.cursor = row(key=best[0], ts=best[1].ts, data=best[1])

    def find(self, text: str, direction: int) -> bool:
        """The next call with that text; looks at calls, not at drawn rows, so that a full log is quick."""
        self.needle = text.lower()
        test = call_test(text)
        here = self.index()
        start = here if here is not None else (self.top - 1 if direction > 0 else self.top + self.page)
        body = self.body
        if not isinstance(body, CallBody):
            return False
        for offset in range(1, len(body) + 1):
            index = (start + direction * offset) % len(body)
            call = body.call(index)
            if call is not None and test(call):
                self.select(index)
                return True
        return False
