"""The shell pane: paints a terminal's screen, and turns keys into what the program gets.

Owns the title line, the cursor and scrolling back. The emulator has the
screen; what is typed goes to ``typed``. Never touches the terminal itself.
"""

import time
from collections.abc import Callable
from functools import lru_cache

from pyte.screens import Char
from rich.segment import Segment
from rich.style import Style
from textual.events import Blur, Focus, Key, Paste
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from glassstack.tui.draw import Span, fit
from glassstack.tui.emulator import Emulator, Line, Picture
from glassstack.tui.look import Look
from glassstack.tui.shellkeys import pasted, sequence
from glassstack.tui.terminal import Colours

LEAST_S = 0.05
"""Between two paintings."""
_NAMES = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
_NUMBERS = {name: n for n, name in enumerate(_NAMES)} | {
    f"bright{name}": n + 8 for n, name in enumerate(_NAMES)
}
_NUMBERS["bfightmagenta"] = 13  # pyte's name for it


def _colour(name: str) -> str | None:
    if name == "default":
        return None
    return f"color({_NUMBERS[name]})" if name in _NUMBERS else f"#{name}"


@lru_cache(maxsize=1024)
def style_of(char: Char, colours: Colours) -> Style:
    """The attributes of a cell; where there are no colours, without them."""
    coloured = colours != "none"
    return Style(
        color=_colour(char.fg) if coloured else None,
        bgcolor=_colour(char.bg) if coloured else None,
        bold=char.bold or None,
        italic=char.italics or None,
        underline=char.underscore or None,
        strike=char.strikethrough or None,
        blink=char.blink or None,
        reverse=char.reverse or None,
    )


class ShellPane(Widget):
    """A terminal with a title line.

    Args:
        emulator: its screen.
        typed: takes the bytes that keys and pasted text stand for.
        resized: told the new size, columns and lines.
    """

    DEFAULT_CSS = "ShellPane { background: ansi_default; color: ansi_default; }"

    class Again(Message):
        """Enter, after the program has ended."""

    class Changed(Message):
        """The program wrote something; from any thread."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, ShellPane.Changed)

    def __init__(
        self,
        look: Look,
        emulator: Emulator,
        typed: Callable[[bytes], None],
        resized: Callable[[int, int], None],
        *,
        id: str,
    ) -> None:
        super().__init__(id=id)
        self.look = look
        self.emulator = emulator
        self.title = "shell"
        self.over = ""
        """How the program ended."""
        self._typed, self._resized = typed, resized
        self._back = 0
        self._picture = Picture((), None, 0)
        self._painted: list[object] = []
        self._last = 0.0
        self._due: Timer | None = None

    # Painting

    def on_shell_pane_changed(self) -> None:
        """Paints now when the last time is long enough ago, else when it will be."""
        left = LEAST_S - (time.monotonic() - self._last)
        if left <= 0:
            self.repaint()
        elif self._due is None:
            self._due = self.set_timer(left, self.repaint)

    def repaint(self) -> None:
        """Sends the lines that differ from what is on screen."""
        if self._due is not None:
            self._due.stop()
            self._due = None
        self._last = time.monotonic()
        self._picture = self.emulator.picture(self._back)
        self._back = self._picture.back
        lines = [self._content(y) for y in range(self.size.height)]
        if len(lines) != len(self._painted):
            self.refresh()
        else:
            changed = [y for y, line in enumerate(lines) if line != self._painted[y]]
            if changed:
                self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))
        self._painted = lines

    def _content(self, y: int) -> object:
        """What a line depends on."""
        if y == 0:
            return self._heading()
        line = self._picture.lines[y - 1] if y <= len(self._picture.lines) else ()
        return (line, self._cursor(y - 1))

    def _cursor(self, y: int) -> int | None:
        at = self._picture.cursor
        return at[0] if at and at[1] == y and self.has_focus and not self.over else None

    def _heading(self) -> tuple[Span, ...]:
        if self.over:
            hint = "enter starts another; ctrl+] leaves" if self.has_focus else "ctrl+] enters"
            return (f"─ {self.title} ", "strong"), (f"{self.over}  ", "warn"), (hint, "dim")
        if self._back:
            return (f"─ {self.title} ", "strong"), (f"{self._back} lines up, any key returns ", "warn")
        if self.has_focus:
            keys = "ctrl+] leaves, shift+PgUp scrolls back"
            return (f" {self.title} ", "tab"), (f" keys go to the shell; {keys} ", "dim")
        return (f"─ {self.title} ", "strong"), ("ctrl+]", "key"), (" types here ", "dim")

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            return self._title_strip(width)
        line = self._picture.lines[y - 1] if y <= len(self._picture.lines) else ()
        segments = self._segments(line)
        strip = Strip(segments).adjust_cell_length(width)
        at = self._cursor(y - 1)
        if at is None:
            return strip
        before, under, after = strip.crop(0, at), strip.crop(at, at + 1), strip.crop(at + 1, width)
        return Strip.join([before, under.apply_style(Style(reverse=True)), after])

    def _segments(self, line: Line) -> list[Segment]:
        return [Segment(self.look.text(text), style_of(char, self.look.colours)) for text, char in line]

    def _title_strip(self, width: int) -> Strip:
        look, room = self.look, width
        segments: list[Segment] = []
        for text, style in self._heading():
            text = fit(text, min(room, len(text)))
            room -= len(text)
            segments.append(Segment(look.text(text), look.style(style)))
        segments.append(Segment(look.text("─" * max(0, room)), look.style("rule")))
        return Strip(segments).adjust_cell_length(width)

    def on_resize(self) -> None:
        """The terminal has the pane's size, less the title."""
        columns, lines = self.size.width, self.size.height - 1
        if columns > 0 and lines > 0:
            self.emulator.resize(columns, lines)
            self._resized(columns, lines)
        self._painted = []
        self.repaint()

    def on_focus(self, event: Focus) -> None:
        """The cursor appears."""
        self.repaint()

    def on_blur(self, event: Blur) -> None:
        """The cursor goes."""
        self.repaint()

    # Typing

    async def _on_key(self, event: Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key in ("shift+pageup", "shift+pagedown"):
            step = max(1, self.size.height - 2)
            self._back = max(0, self._back + (step if event.key == "shift+pageup" else -step))
            self.repaint()
        elif self.over:
            if event.key == "enter":
                self.post_message(self.Again())
        else:
            self._send(sequence(event.key, event.character, self.emulator.app_cursor))

    async def _on_paste(self, event: Paste) -> None:
        event.stop()
        event.prevent_default()
        self._send(pasted(event.text, self.emulator.bracketed))

    def _send(self, data: bytes) -> None:
        if data:
            self._back = 0
            self._typed(data)
