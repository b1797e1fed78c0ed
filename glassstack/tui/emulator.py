"""The screen of a program in a terminal: bytes in, lines of styled text out.

Owns what pyte lacks for a shell of today: scrollback, the second screen of
full-screen programs, and sequences that it would take for others. Pure: the
terminal and its program are session/console.py's. Feeding and looking may
happen in different threads.
"""

import copy
import re
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyte
from pyte.screens import Char, Cursor, StaticDefaultDict

SCROLLBACK = 2_000
"""Lines kept above the screen."""
Run = tuple[str, Char]
"""Text, and the attributes that all of it has (its ``data`` is empty)."""
Line = tuple[Run, ...]

_APP_CURSOR, _BRACKETED = 1 << 5, 2004 << 5  # private modes as pyte keeps them
_SECOND = frozenset((47, 1047, 1049))
_COLUMNS_132 = 3
# What pyte has no words for: private parameters, keyboard protocols, device control strings.
_UNKNOWN = re.compile(rb"\x1b(?:\[[<=>][0-9;:]*[ -/]*[@-~]|\[\?[0-9;:]*[ -/]*[@-HL-gi-km-~]|P[^\x1b]*\x1b\\)")
_UNFINISHED = re.compile(rb"\x1b(?:\[[<=>?]?[0-9;:]*[ -/]*|P[^\x1b]{0,4096}\x1b?)?\Z")


@dataclass(frozen=True)
class Picture:
    """What is on screen: ``cursor`` as (column, line) or ``None``, ``back`` lines above the newest."""

    lines: tuple[Line, ...]
    cursor: tuple[int, int] | None
    back: int


class _Screen(pyte.Screen):
    """pyte's screen with scrollback and a second screen."""

    def __init__(self, columns: int, lines: int, reply: Callable[[bytes], None]) -> None:
        self.above: deque[Line] = deque(maxlen=SCROLLBACK)
        self._first: tuple[Any, Cursor] | None = None  # kept while the second screen is shown
        self._reply = reply
        super().__init__(columns, lines)

    def write_process_input(self, data: str) -> None:
        self._reply(data.encode())

    def line(self, y: int) -> Line:
        """A line as runs, without the blanks at its end."""
        cells = self.buffer[y]
        width = max((x for x in cells if x < self.columns), default=-1) + 1
        row = [cells[x] for x in range(width)]
        runs = [
            ("".join(char.data for char in group), key)
            for key, group in groupby(row, lambda char: char._replace(data=""))
        ]
        if runs and runs[-1][1] == self.default_char._replace(data=""):
            runs[-1] = (runs[-1][0].rstrip(), runs[-1][1])
        return tuple(run for run in runs if run[0])

    def index(self) -> None:
        top, bottom = self.margins or (0, self.lines - 1)
        if self.cursor.y == bottom and top == 0 and self._first is None:
            self.above.append(self.line(0))
        super().index()

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        if how == 3:
            self.above.clear()
        super().erase_in_display(how, *args, **kwargs)

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private"):
            modes = tuple(mode for mode in modes if mode != _COLUMNS_132)
            if self._first is None and _SECOND.intersection(modes):
                self._first = (self.buffer, copy.copy(self.cursor))
                self._show(defaultdict(lambda: StaticDefaultDict[int, Char](self.default_char)), self.cursor)
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        if kwargs.get("private"):
            modes = tuple(mode for mode in modes if mode != _COLUMNS_132)
            if self._first is not None and _SECOND.intersection(modes):
                self._show(*self._first)
                self._first = None
        super().reset_mode(*modes, **kwargs)

    def _show(self, buffer: Any, cursor: Cursor) -> None:
        self.buffer, self.cursor = buffer, cursor
        self.ensure_hbounds()
        self.ensure_vbounds()
        self.dirty.update(range(self.lines))

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Keeps the cursor's line: lines above it go into the scrollback, lines below it are lost."""
        lines, columns = lines or self.lines, columns or self.columns
        over = max(0, self.cursor.y - lines + 1)
        for y in range(over):
            if self._first is None:
                self.above.append(self.line(y))
        for y in range(self.lines - over if over else 0):
            self.buffer[y] = self.buffer[y + over]
        for y in [y for y in self.buffer if y >= lines]:
            del self.buffer[y]
        self.cursor.y -= over
        self.lines, self.columns = lines, columns
        self.margins = None
        self.tabstops = set(range(8, columns, 8))
        self.ensure_hbounds()
        self.dirty.update(range(lines))


class Emulator:
    """A terminal's screen.

    Args:
        columns, lines: its size.
        reply: takes what the terminal itself answers to the program.
    """

    def __init__(self, columns: int, lines: int, reply: Callable[[bytes], None] = lambda _: None) -> None:
        self._lock = threading.Lock()
        self._screen = _Screen(columns, lines, reply)
        self._stream = pyte.ByteStream(self._screen)
        self._held = b""
        self._lines: dict[int, Line] = {}

    def feed(self, data: bytes) -> None:
        """Takes what the program writes."""
        data = _UNKNOWN.sub(b"", self._held + data)
        unfinished = _UNFINISHED.search(data)
        self._held = unfinished.group() if unfinished else b""
        with self._lock:
            try:
                self._stream.feed(data[: len(data) - len(self._held)])
            except (TypeError, ValueError, LookupError, AssertionError):
                # A sequence with parameters that pyte does not expect ends its parser: begin a new one.
                self._stream = pyte.ByteStream(self._screen)

    def resize(self, columns: int, lines: int) -> None:
        """Another size."""
        with self._lock:
            self._screen.resize(lines, columns)

    @property
    def app_cursor(self) -> bool:
        """Whether arrows are to be sent as application keys."""
        return _APP_CURSOR in self._screen.mode

    @property
    def bracketed(self) -> bool:
        """Whether the program wants to tell pasted text from typed."""
        return _BRACKETED in self._screen.mode

    def picture(self, back: int = 0) -> Picture:
        """The screen, ``back`` lines up in the scrollback (as far as there are any)."""
        with self._lock:
            screen = self._screen
            for y in screen.dirty:
                self._lines.pop(y, None)
            screen.dirty.clear()
            for y in range(screen.lines):
                if y not in self._lines:
                    self._lines[y] = screen.line(y)
            back = max(0, min(back, len(screen.above)))
            above = list(screen.above)[len(screen.above) - back :][: screen.lines] if back else []
            below = [self._lines[y] for y in range(screen.lines - len(above))]
            shown = back == 0 and not screen.cursor.hidden
            cursor = (min(screen.cursor.x, screen.columns - 1), screen.cursor.y) if shown else None
            return Picture((*above, *below), cursor, back)
