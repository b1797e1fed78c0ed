"""The lines at the edges: what is watched and which panes there are; what is going on and what isn't."""

from dataclasses import dataclass, field

from rich.cells import cell_len

from glassstack.format import units
from glassstack.store.snapshot import Snapshot
from glassstack.tui.draw import Row, Span, fit, row
from glassstack.tui.look import Look
from glassstack.tui.replay import Position
from glassstack.tui.widgets.lines import Lines, Rows


@dataclass(frozen=True)
class Status:
    """What the bars say."""

    title: str = ""
    panes: tuple[tuple[str, str, bool], ...] = ()  # key, title, shown
    snapshot: Snapshot = field(default_factory=Snapshot)
    frozen: bool = False
    newer: int = 0  # calls since the picture was frozen
    moment: int | None = None
    position: Position | None = None
    ended: str | None = None
    filter: str = ""
    needle: str = ""
    notice: str = ""
    keys: tuple[tuple[str, str], ...] = ()  # those to know, in place of the usual ones


def _join(left: list[Span], right: list[Span], width: int) -> Row:
    """Left part, gap, right part; the left one gives way."""
    room = width - sum(cell_len(text) for text, _ in right)
    out: list[Span] = []
    for text, style in left:
        if cell_len(text) > room:
            text = fit(text, room)
        room -= cell_len(text)
        out.append((text, style))
        if room <= 0:
            break
    return row(*out, (" " * max(0, room), ""), *right)


def state(status: Status) -> Span:
    """Following, frozen, playing, paused or ended: a sign and a word."""
    if status.position is not None:
        at, length = units.grouped(status.position.at), units.grouped(status.position.length)
        word = "▸ playing" if status.position.playing else "◐ paused"
        return (f"{word} {at}/{length}", "ok" if status.position.playing else "warn")
    if status.frozen:
        newer = f", {units.count(status.newer)} newer calls" if status.newer else ""
        return (f"◐ frozen{newer}", "warn")
    if status.ended is not None:
        return ("○ ended", "dim")
    return ("● following", "ok")


def top_rows(status: Status, width: int) -> list[Row]:
    """Title and clock, then the panes."""
    s = status.snapshot
    elapsed = f"{units.clock(s.ts - s.started, 0)} s" if s.ts else ""
    if status.frozen or status.position is not None:
        elapsed = f"{units.clock(s.ts - s.started, 3)} s" if s.ts else ""
    left: list[Span] = [("glassstack", "accent"), ("  ", ""), (status.title, "strong")]
    first = _join(left, [("  ", ""), state(status), (f"  {elapsed:>7}", "dim")], width)
    tabs: list[Span] = []
    needed = sum(len(title) + 4 for _, title, _ in status.panes)
    roomy, tight = needed + len(status.panes) <= width, needed > width
    for key, title, shown in status.panes:
        if shown:
            tabs += [(f" {key} {title} ", "tab")]
        else:
            tabs += [(f" {key}", "key"), (f" {title}" if tight else f" {title} ", "")]
        tabs.append(("  " if roomy else "", ""))
    return [first, row(*tabs), row(("─" * width, "rule"))]


def _notices(status: Status) -> list[Span]:
    """What must not be overlooked: losses, failures, a damaged recording, a narrowed view."""
    spans: list[Span] = []
    if status.notice:
        spans.append((status.notice, "strong"))
    if status.ended:
        spans.append((f"✗ the feed failed: {status.ended}", "bad"))
    if status.position and status.position.damaged:
        spans.append((f"recording {status.position.damaged}", "warn"))
    spans += [(f"dropped {units.grouped(d.count)} at {d.where}", "warn") for d in status.snapshot.dropped]
    spans += [
        (f"✗ {f.collector}: {f.cause}" + (f"; {f.remedy}" if f.remedy else ""), "bad")
        for f in status.snapshot.failed
    ]
    if status.filter:
        spans.append((f"filter: {status.filter}", "quiet"))
    if status.needle:
        spans.append((f"find: {status.needle}", "quiet"))
    return spans


def capability_spans(s: Snapshot) -> list[Span]:
    """How much can be seen here, and what can't and why; the remedies are in the help."""
    if not s.capabilities:
        return []
    absent = [c for c in s.capabilities if not c.ready]
    ready = len(s.capabilities) - len(absent)
    if not absent:
        return [("● ", "ok"), (f"all {ready} ways to see are ready", "dim")]
    names = "; ".join(f"{c.name}: {c.why}" if len(absent) == 1 else c.name for c in absent)
    return [("● ", "ok"), (f"{ready} ready", "dim"), ("  ○ not ready: ", "warn"), (names, "dim")]


def bottom_row(status: Status, width: int) -> Row:
    """Notices first, else what is ready; keys at the right."""
    moving = status.position is not None
    live = (("f", "follow" if status.frozen else "freeze"),)
    hints = (("space", "play"), ("← →", "step")) if moving else live
    right: list[Span] = []
    for key, word in (*(status.keys or (*hints, ("/", "filter"))), ("?", "help"), ("q", "quit")):
        right += [("  ", ""), (key, "key"), (f" {word}", "dim")]
    left: list[Span] = []
    for span in _notices(status):
        left += [span, ("  ", "")]
    return _join(left or capability_spans(status.snapshot), right, width)


def position_row(position: Position, width: int) -> Row:
    """Where the recording stands, as a line to its end."""
    cells = max(1, width)
    done = cells if not position.length else round(cells * position.at / position.length)
    return row(("━" * done, "accent"), ("─" * (cells - done), "rule"))


class Bar(Lines):
    """Rows of a status, without a gutter."""

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, indent=0, id=id)
        self.status = Status()

    def show(self, status: Status) -> None:
        """Draws a status."""
        self.status = status
        self.redraw()

    def rows(self) -> list[Row]:
        """What to draw."""
        raise NotImplementedError

    def redraw(self) -> None:
        self.set_rows((), Rows(self.rows()))


class TopBar(Bar):
    """Title, state, clock; panes; a rule."""

    def rows(self) -> list[Row]:
        rows = top_rows(self.status, self.size.width)
        if self.status.position is not None:
            rows[-1] = position_row(self.status.position, self.size.width)
        return rows


class BottomBar(Bar):
    """One line: notices or capabilities, and the keys to know."""

    def rows(self) -> list[Row]:
        return [bottom_row(self.status, self.size.width)]
