"""The one widget that paints: rows of text, of which only the changed ones are sent.

Owns scrolling, the diff against what is on screen, and the translation of
rows into strips. Knows nothing of snapshots.
"""

from collections.abc import Hashable, Sequence
from typing import Protocol

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from glassstack.tui.draw import Row, Span
from glassstack.tui.look import Look

GUTTER = 2
"""Cells at the left for the cursor and the marks."""


class Body(Protocol):
    """Rows by index. A list, or something that makes a row when it is looked at."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Row: ...


class Rows:
    """A body made of finished rows."""

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int, /) -> Row:
        return self._rows[index]

    def find(self, key: Hashable) -> int | None:
        """Index of the row with that key."""
        return next((i for i, row in enumerate(self._rows) if row.key == key), None)


Line = tuple[tuple[Span, ...], str, str]
"""What is on screen in one line: spans, gutter text, style over everything or ""."""


class Lines(Widget):
    """Fixed head rows and a scrolling body.

    ``set_rows`` replaces the content; only lines that differ are repainted.
    """

    def __init__(self, look: Look, *, indent: int = GUTTER, id: str | None = None) -> None:
        super().__init__(id=id)
        self.look = look
        self.indent = indent
        self.head: Sequence[Row] = ()
        self.body: Body = Rows()
        self.top = 0
        self._painted: list[Line] = []

    @property
    def page(self) -> int:
        """Body rows that fit on screen."""
        return max(0, self.size.height - len(self.head))

    @property
    def max_top(self) -> int:
        """The largest ``top`` that still fills the screen."""
        return max(0, len(self.body) - self.page)

    def set_rows(self, head: Sequence[Row], body: Body) -> None:
        """Shows other rows."""
        self.head = head
        self.body = body
        self.repaint()

    def repaint(self) -> None:
        """Sends the lines that differ from what is on screen."""
        self.top = max(0, min(self.top, self.max_top))
        width, height = self.size
        lines = [self._line(y) for y in range(height)]
        old = self._painted
        if len(old) != height:
            self._painted = lines
            self.refresh()
            return
        changed = [y for y in range(height) if lines[y] != old[y]]
        self._painted = lines
        if changed:
            self.refresh(*(Region(0, y, width, 1) for y in changed))

    def _line(self, y: int) -> Line:
        if y < len(self.head):
            return (self.head[y].spans, "", "")
        index = self.top + y - len(self.head)
        if index >= len(self.body):
            return ((), "", "")
        row = self.body[index]
        return (row.spans, *self.decorate(row))

    def decorate(self, row: Row) -> tuple[str, str]:
        """Gutter text of a body row, and a style that replaces the row's own, or ""."""
        return "", ""

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        width = self.size.width
        if y >= len(self._painted):
            return Strip.blank(width)
        spans, sign, over = self._painted[y]
        look = self.look
        gutter = look.style(over or ("rule" if sign == "│" else "accent"))
        segments = [Segment(look.text(sign).ljust(self.indent), gutter)]
        if over:
            segments.append(Segment("".join(look.text(text) for text, _ in spans), look.style(over)))
        else:
            segments += [Segment(look.text(text), look.style(style)) for text, style in spans]
        return Strip(segments).adjust_cell_length(width, look.style(over) if over else None)

    def on_resize(self) -> None:
        """Everything is drawn anew at the new size."""
        self._painted = []
        self.redraw()

    def redraw(self) -> None:
        """Makes the rows again, after the size changed. Subclasses that draw something override it."""
        self.repaint()
