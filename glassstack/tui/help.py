"""The help screen: every key, every pane, and what can be seen on this machine and what can't."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from glassstack.store.snapshot import Snapshot
from glassstack.tui.draw import Row, Span, blank, fit, row, rule, wrap
from glassstack.tui.keys import ACTIONS, DO, DRILL, LOOK, MOVE, TIME, Action
from glassstack.tui.look import Look
from glassstack.tui.panes import PANES
from glassstack.tui.widgets.lines import Lines, Rows

_GROUPS = ((MOVE, "Move"), (LOOK, "Look closer"), (TIME, "Time"), (DO, "Everything else"))
_DRILL = (DRILL, "Drill")
_FILTER = (
    "ALLOC matches anywhere; !WAIT must not; pid=12 name=map dev=0 errno=EIO look at one field; "
    "err: calls that failed"
)


def _key_row(keys: str, text: str, width: int) -> Row:
    return row((fit(keys, 10), "key"), fit(text, width - 10))


def key_rows(width: int, actions: Sequence[Action] = ACTIONS) -> list[Row]:
    """Every action with its key, and the panes."""
    rows = [rule("Panes", width)]
    rows += [_key_row(spec.key, f"{spec.title}: {spec.about}", width) for spec in PANES]
    groups = (_DRILL, *_GROUPS) if any(a.group == DRILL for a in actions) else _GROUPS
    for group, title in groups:
        rows += [blank(), rule(title, width)]
        rows += [_key_row(a.shown, a.title, width) for a in actions if a.group == group]
    rows += [blank(), rule("Filters", width), *(row(line) for line in wrap(_FILTER, width))]
    return rows


def capability_rows(s: Snapshot, width: int) -> list[Row]:
    """What is ready, and for the rest why not and what to do."""
    rows = [blank(), rule("What can be seen here", width)]
    for c in s.capabilities:
        sign: Span = ("● ready   ", "ok") if c.ready else ("○ not here", "warn")
        words = "" if c.ready else "; ".join(text for text in (c.why, c.remedy) if text)
        lines = wrap(words, max(20, width - 32)) or [""]
        rows.append(row(sign, (f" {fit(c.name, 20)} ", "strong"), lines[0]))
        rows += [row((" " * 32, ""), line) for line in lines[1:]]
    return rows if s.capabilities else [*rows, row(("nobody reported yet", "dim"))]


class HelpScreen(ModalScreen[None]):
    """Scrolls with the usual keys; any of esc, q, ? closes it."""

    BINDINGS: ClassVar = [
        Binding("escape,q,question_mark,enter", "dismiss", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
        Binding("pagedown,space", "scroll(15)", show=False),
        Binding("pageup", "scroll(-15)", show=False),
    ]
    DEFAULT_CSS = """
    HelpScreen { background: ansi_default; align: center top; }
    HelpScreen Lines { width: 100%; max-width: 100; height: 100%; background: ansi_default; }
    """

    def __init__(self, look: Look, snapshot: Snapshot, actions: Sequence[Action] = ACTIONS) -> None:
        super().__init__()
        self._snapshot = snapshot
        self._lines = _HelpLines(look, snapshot, actions)

    def compose(self) -> ComposeResult:
        yield self._lines

    def action_scroll(self, rows: int) -> None:
        """Up or down."""
        self._lines.top += rows
        self._lines.repaint()


class _HelpLines(Lines):
    def __init__(self, look: Look, snapshot: Snapshot, actions: Sequence[Action]) -> None:
        super().__init__(look)
        self._snapshot, self._actions = snapshot, actions

    def redraw(self) -> None:
        width = max(20, self.size.width - self.indent - 1)
        title = row(("glassstack", "accent"), ("  keys and capabilities", "strong"), ("   esc closes", "dim"))
        body = [*key_rows(width, self._actions), *capability_rows(self._snapshot, width)]
        self.set_rows([title, blank()], Rows(body))
