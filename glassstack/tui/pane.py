"""What every pane is: rows drawn from a snapshot, a cursor, a filter, marks around the moment.

A pane overrides ``draw`` (pure: a view in, rows out) and perhaps ``enter``.
It never opens a file, spawns a process or reads /proc.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from textual.message import Message

from glassstack.store.snapshot import Snapshot
from glassstack.tui.draw import Row
from glassstack.tui.filter import text_test
from glassstack.tui.look import Look
from glassstack.tui.moment import is_near
from glassstack.tui.widgets.lines import Lines, Rows


@dataclass(frozen=True)
class View:
    """What a pane draws: a snapshot on ``width`` × ``height`` cells, the gutter not counted."""

    snapshot: Snapshot
    width: int
    height: int

    def clock(self, ts: int) -> int:
        """Nanoseconds since the start of what is watched."""
        return ts - self.snapshot.started


@dataclass(frozen=True)
class Drawing:
    """Rows that stay on top, and rows that scroll."""

    head: Sequence[Row]
    body: Sequence[Row]


class Pane(Lines, can_focus=False):
    """Base of the panes; ``PERIOD`` is the least time between two paintings, in seconds."""

    PERIOD: ClassVar[float] = 0.5
    TAIL: ClassVar[bool] = False
    """Keeps the newest row in view while nothing is frozen or selected."""

    class Selected(Message):
        """The cursor is on a row (or on none)."""

        def __init__(self, row: Row | None) -> None:
            super().__init__()
            self.row = row

    class Goto(Message):
        """Another pane is wanted."""

        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    class Pick(Message):
        """A process is to be watched."""

        def __init__(self, pid: int) -> None:
            super().__init__()
            self.pid = pid

    class Inspect(Message):
        """More about a row is wanted."""

        def __init__(self, row: Row) -> None:
            super().__init__()
            self.row = row

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, id=id)
        self.snapshot: Snapshot | None = None
        self.moment: int | None = None
        self.cursor: Row | None = None
        self.filter = ""
        self.needle = ""

    # What panes override

    def draw(self, view: View) -> Drawing:
        """The rows of a view. Pure."""
        raise NotImplementedError

    def enter(self, row: Row) -> None:
        """Enter on a row."""
        self.post_message(self.Inspect(row))

    def enter_moment(self, snapshot: Snapshot, moment: int | None) -> None:
        """Called when the pane comes on screen; a pane of events goes to the moment."""

    # Drawing

    @property
    def view(self) -> View:
        """What is to be drawn now."""
        return View(self.snapshot or Snapshot(), max(0, self.size.width - self.indent), self.size.height)

    def show(self, snapshot: Snapshot, moment: int | None) -> None:
        """Draws a picture."""
        self.snapshot = snapshot
        self.moment = moment
        self.redraw()

    def redraw(self) -> None:
        if self.snapshot is None or not self.size.height:
            return
        drawing = self.draw(self.view)
        self.head = drawing.head
        self.body = Rows(self._filtered(drawing.body))
        self.settle()

    def _filtered(self, rows: Sequence[Row]) -> Sequence[Row]:
        if not self.filter:
            return rows
        test = text_test(self.filter)
        return [row for row in rows if row.key is None or test(row.text)]

    def settle(self) -> None:
        """Keeps the view on the cursor, or on the newest row, and paints."""
        if self.cursor is not None:
            self.reveal(self.index())
        elif self.TAIL:
            self.top = self.max_top
        self.repaint()

    def decorate(self, row: Row) -> tuple[str, str]:
        if self.cursor is not None and row.key is not None and row.key == self.cursor.key:
            return "▸", "cursor"
        if self.moment is not None and row.ts and is_near(row.ts, self.moment):
            return "◆", ""
        if self.needle and row.key is not None and self.needle in row.text.lower():
            return "·", ""
        return "", ""

    # The cursor

    def find_key(self, key: object) -> int | None:
        """Index of the row with that key; panes with a body of their own override it."""
        return cast(Rows, self.body).find(key)

    def index(self) -> int | None:
        """Index of the cursor's row, ``None`` when it is gone or not set."""
        return None if self.cursor is None else self.find_key(self.cursor.key)

    def reveal(self, index: int | None) -> None:
        """Scrolls as little as needed to have that row on screen."""
        if index is None:
            return
        if index < self.top:
            self.top = index
        elif index >= self.top + self.page:
            self.top = index - self.page + 1

    def move(self, by: int) -> None:
        """Moves the cursor over selectable rows; without any, scrolls."""
        start = self.index()
        if start is None:
            start = self._entry(by)
        else:
            start = self._selectable(start + (1 if by > 0 else -1), by)
        if start is None:
            self.top += by
            self.repaint()
            return
        self.select(start)

    def _entry(self, by: int) -> int | None:
        """Where a cursor that was nowhere appears: first row shown, or the last when there is a tail."""
        if self.TAIL:
            return self._selectable(min(self.top + self.page, len(self.body)) - 1, -1)
        return self._selectable(self.top, 1)

    def _selectable(self, index: int, direction: int) -> int | None:
        """The first row that can be selected from ``index`` on, in a direction."""
        step = 1 if direction > 0 else -1
        while 0 <= index < len(self.body):
            if self.body[index].key is not None:
                return index
            index += step
        return None

    def page_by(self, pages: int) -> None:
        """Moves by screens."""
        here = self.index()
        if here is None:
            self.top += pages * max(1, self.page - 1)
            self.repaint()
            return
        wanted = max(0, min(len(self.body) - 1, here + pages * max(1, self.page - 1)))
        target = self._selectable(wanted, pages)
        if target is None:
            target = self._selectable(wanted, -pages)
        if target is not None:
            self.select(target)

    def edge(self, end: int) -> None:
        """To the first (-1) or last (1) row."""
        target = self._selectable(0, 1) if end < 0 else self._selectable(len(self.body) - 1, -1)
        self.top = 0 if end < 0 else self.max_top
        if target is None:
            self.repaint()
            return
        self.select(target)

    def select(self, index: int) -> None:
        """Puts the cursor on a row and tells the app."""
        self.cursor = self.body[index]
        if index and all(self.body[i].key is None for i in range(index)):
            self.top = 0  # the headings above the first row stay readable
        self.reveal(index)
        self.repaint()
        self.post_message(self.Selected(self.cursor))

    def clear_cursor(self) -> None:
        """No row is selected any more."""
        self.cursor = None
        self.settle()

    def set_filter(self, text: str) -> None:
        """Shows only the rows that match."""
        self.filter = text
        self.redraw()

    def find(self, text: str, direction: int) -> bool:
        """Puts the cursor on the next row with that text; false when there is none."""
        self.needle = text.lower()
        count = len(self.body)
        here = self.index()
        start = here if here is not None else (self.top - 1 if direction > 0 else self.top + self.page)
        for offset in range(1, count + 1):
            index = (start + direction * offset) % count
            row = self.body[index]
            if row.key is not None and self.needle in row.text.lower():
                self.select(index)
                return True
        self.repaint()
        return False
