"""Home: the stack itself, one row per layer, the last minute below it, and the newest calls."""

from collections.abc import Sequence

from glassstack.format import units
from glassstack.store.snapshot import SECONDS, Snapshot
from glassstack.store.stack import Layer, layers
from glassstack.tui import callrow
from glassstack.tui.draw import Cell, Column, Row, Span, Table, blank, fit, row, rule, spark_rows, wrap
from glassstack.tui.look import Look
from glassstack.tui.pane import Drawing, Pane, View
from glassstack.tui.quiet import sentence

WIDE = 112
UNREADABLE_NS = 3_000_000_000
HEALTH: dict[str, Span] = {
    "ok": ("● ok", "ok"),
    "idle": ("○ idle", "dim"),
    "warning": ("◐ warning", "warn"),
    "broken": ("✗ broken", "bad"),
    "unknown": ("· unknown", "dim"),
}
BRACES = {"app": "┌", "runtime": "│", "umd": "└", "boundary": "╌", "kmd": "┌", "device": "└"}
OPENS = {
    "app": "processes",
    "runtime": "launches",
    "umd": "maps",
    "boundary": "calls",
    "kmd": "log",
    "device": "fences",
}
_COLUMNS = (
    Column("layer", 12),
    Column("health", 10),
    Column("version", 14),
    Column("per second", 28),
    Column("last error, or state", needs=WIDE),
    Column("source", 17),
)
_NARROW = (
    *_COLUMNS[:2],
    Column("version", 12),
    Column("per second, or state"),
    _COLUMNS[4],
    Column("source", 13),
)


def _rates(layer: Layer) -> list[Span]:
    spans: list[Span] = []
    if layer.health == "unknown":  # a zero would claim that somebody looked
        return spans
    for label, value in layer.rates:
        gap = "  " if spans else ""
        spans += [
            (gap + units.rate(value), "strong" if value else ""),
            (f" {label.removesuffix('/s')}", "dim"),
        ]
    return spans


def _source(layer: Layer, wide: bool) -> str:
    word = layer.source.partition(":")[0]
    return word if wide else word.removeprefix("measured ") or word


def _error(layer: Layer) -> Span:
    return (layer.last_error, "bad" if layer.health == "broken" else "warn")


def _state(layer: Layer) -> Span:
    """What the layer is made of now, and why it can't be seen."""
    programs = layer.version if layer.key == "app" else ""
    why = layer.source.partition(": ")[2]
    if layer.health == "unknown" and layer.source in ("measured", "emulated"):
        return ("nothing seen yet", "dim")
    return ("; ".join(text for text in (programs, layer.detail, why) if text), "dim")


def stack_rows(found: Sequence[Layer], width: int) -> tuple[Row, list[Row]]:
    """Column titles and a row per layer; on narrow screens a second line has the words."""
    wide = width >= WIDE
    table = Table(_COLUMNS if wide else _NARROW, width)
    rows: list[Row] = []
    for layer in found:
        brace = BRACES.get(layer.key, " ")
        cells: list[Cell] = [
            [(f"{brace} ", "rule"), (layer.title, "strong")],
            HEALTH.get(layer.health, (layer.health, "")),
            "" if layer.key == "app" else layer.version or "-",
            _rates(layer) if wide else _rates(layer) or _state(layer),
            _error(layer) if layer.last_error else _state(layer),
            (_source(layer, wide), "dim"),
        ]
        rows.append(table.row(cells, key=("layer", layer.key), data=layer))
        if layer.last_error and not wide:
            text, style = _error(layer)
            side = "│" if brace in "┌│" else " "
            rows.append(row((f"{side}   ", "rule"), (fit(text, width - 4).rstrip(), style)))
    return table.head(), rows


def minute_rows(s: Snapshot, width: int, high: int) -> list[Row]:
    """Calls flat next to doorbells and jobs racing: the curves are on one scale."""
    r = s.rates
    series = [("ioctls", r.ioctls, "quiet"), ("doorbells", r.doorbells, "busy"), ("jobs", r.jobs, "busy")]
    if ("umd", "launch") in r.functions:
        series.insert(0, ("launches", r.functions["umd", "launch"], "busy"))
    wide = 2 if width >= 2 * SECONDS + 20 else 1  # cells per second
    columns = min(SECONDS * wide, width - 20)
    top = max((max(values[-columns // wide :], default=0) for _, values, _ in series), default=0)
    title = f"last minute, per second; full height is {units.count(top)}" if top else "last minute"
    rows = [rule(title, width)]
    for label, values, style in series:
        lines = spark_rows([value for value in values for _ in range(wide)], columns, top, high)
        if high > 1 and label != series[0][0]:
            rows.append(blank())
        now = units.count(values[-1]) if values else "-"
        for index, line in enumerate(lines):
            last = index == len(lines) - 1
            name, number = (fit(label, 10), fit(now, 7, right=True)) if last else (" " * 10, "")
            rows.append(row((f"{name} ", "label"), (line, style), (f" {number}", "strong")))
    return rows


class StackPane(Pane):
    """One row per layer; the broken one stands out. Enter opens the pane of the layer."""

    PERIOD = 1.0

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, id=id)
        self._calls: list[Row] = []
        self._calls_of = (0, 0, 0, 0)  # end, time, width, rows that they were made for

    def draw(self, view: View) -> Drawing:
        s, width = view.snapshot, view.width
        roomy = view.height >= 34
        head, rows = stack_rows(layers(s), width)
        if view.height >= 24:
            rows.append(blank())
        rows += minute_rows(s, width, 2 if roomy else 1)
        lesson = sentence(s)
        if lesson:
            rows += [blank()] if roomy else []
            rows += [row((line, "accent")) for line in wrap(lesson, min(width, 118))]
        left = view.height - 2 - len(rows) - roomy
        if left >= 2:
            rows += [blank()] if roomy else []
            rows += [rule("newest calls", width)]
            rows += self._newest(s, width, left) or [row(("none yet", "dim"))]
        return Drawing([head], rows)

    def _newest(self, s: Snapshot, width: int, most: int) -> list[Row]:
        """The newest calls; a list that outruns the eye changes every UNREADABLE_NS only."""
        end, ts, *shape = self._calls_of
        outruns = s.calls_end - end > most and 0 <= s.ts - ts < UNREADABLE_NS
        if not outruns or shape != [width, most]:
            self._calls = callrow.newest(s, width, most)
            self._calls_of = (s.calls_end, s.ts, width, most)
        return self._calls

    def enter(self, row: Row) -> None:
        if isinstance(row.data, Layer):
            self.post_message(self.Goto(OPENS[row.data.key]))
        else:
            super().enter(row)
