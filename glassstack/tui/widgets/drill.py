"""The drill beside the stack: clock, what the last check said, hints, the report, at last the debrief."""

from glassstack.format import units
from glassstack.tui import prose
from glassstack.tui.draw import Row, blank, row, rule, wrap
from glassstack.tui.drillview import Checked, Standing
from glassstack.tui.look import Look
from glassstack.tui.widgets.lines import Line, Lines, Rows


def clock(seconds: float) -> str:
    """Minutes and seconds, "4:07"."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def standing_text(standing: Standing) -> str:
    """Clock, hints and points in a few words."""
    hints = f"{len(standing.hints)} of {standing.hints_in_all} hints"
    return f"{clock(standing.seconds)}  {hints}  {units.grouped(standing.score)} points"


def _verdict(standing: Standing, checked: Checked | None, checking: bool, width: int) -> list[Row]:
    if standing.phase == "gone":
        return [row(("✗ the drill was ended", "bad")), row("q leaves", key=None)]
    if checking:
        return [row(("… checking", "warn"))]
    if standing.phase == "solved":
        return [row(("● solved", "ok"), (f" in {clock(standing.seconds)}", "strong"))]
    if checked is None:
        return [row(("c", "key"), (" asks whether it is mended", "dim"))]
    if checked.error:
        return [row((line, "bad")) for line in wrap(f"✗ {checked.error}", width)]
    rows = [row(("◐ not yet", "warn"))]
    for why in checked.failing:
        rows += [row(("  ", ""), (line, "")) for line in wrap(why, width - 2)]
    return rows


def _hints(standing: Standing, width: int) -> list[Row]:
    rows: list[Row] = []
    for number, text in enumerate(standing.hints, 1):
        rows += [blank(), rule(f"Hint {number}", width), *prose.rows(text, width)]
    return rows


def _next_hint(standing: Standing) -> list[Row]:
    left = standing.hints_in_all - len(standing.hints)
    if not left or standing.phase != "broken":
        return []
    words = f" hint {len(standing.hints) + 1} of {standing.hints_in_all}, costs {standing.next_cost} points"
    return [row(("H", "key"), (words, "dim"))]


def _evidence(standing: Standing, at: int, width: int) -> list[Row]:
    if not standing.evidence:
        return []
    rows = [blank(), rule("The evidence, pane by pane", width), row(("e", "key"), (" shows the next", "dim"))]
    for number, text in enumerate(standing.evidence):
        sign, style = ("▸ ", "accent") if number == at else ("  ", "")
        for line in wrap(text, width - 2):
            rows.append(row((sign, style), (line, style)))
            sign = "  "
    return rows


def panel_rows(
    title: str, brief: str, standing: Standing, checked: Checked | None, checking: bool, at: int, width: int
) -> list[Row]:
    """Everything there is to say, the newest first."""
    rows = [row((line, "accent")) for line in wrap(title, width)]
    rows.append(row((standing_text(standing), "strong")))
    rows += _verdict(standing, checked, checking, width)
    rows += _next_hint(standing)
    if standing.debrief:
        rows += _evidence(standing, at, width)
        rows += [blank(), *prose.rows(standing.debrief, width)]
    rows += _hints(standing, width)
    return [*rows, blank(), rule("The report", width), *prose.rows(brief, width)]


class DrillPanel(Lines):
    """Draws how a drill stands; J and K scroll it."""

    def __init__(self, look: Look, title: str, brief: str, *, id: str) -> None:
        super().__init__(look, indent=2, id=id)
        self._title, self._brief = title, brief.removeprefix(f"# {title}\n")
        self.beside = True
        self.standing = Standing("broken")
        self.checked: Checked | None = None
        self.checking = False
        self.at = -1  # the piece of evidence that is shown

    def redraw(self) -> None:
        width = max(10, self.size.width - self.indent - 1)
        rows = panel_rows(
            self._title, self._brief, self.standing, self.checked, self.checking, self.at, width
        )
        self.set_rows((), Rows(rows))

    def _line(self, y: int) -> Line:
        spans, sign, over = super()._line(y)
        more = y == self.size.height - 1 and self.top < self.max_top
        if more:
            spans = (("↓ J shows more", "dim"),)
        return (spans, "│" if self.beside else sign, over)

    def scroll_by(self, rows: int) -> None:
        """Scrolls the text."""
        self.top += rows
        self.repaint()
