"""The kernel log (of the embedded device: its stand-in) with Xids explained, and what programs wrote."""

from glassstack.decoders import xid
from glassstack.format import units
from glassstack.model.events import Log, Output
from glassstack.store.snapshot import Snapshot
from glassstack.tui.draw import Row, Span, fit, row, wrap
from glassstack.tui.pane import Drawing, Pane, View

_LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
_SIDE = 29


def _style(log: Log) -> str:
    if log.xid is not None or log.level <= 3:
        return "bad"
    return "warn" if log.level == 4 else ""


def _lines(ts: str, side: str, text: str, style: str, width: int) -> list[tuple[Span, ...]]:
    room = max(20, width - _SIDE)
    out: list[tuple[Span, ...]] = []
    for index, line in enumerate(wrap(text, room) or [""]):
        left = f"{ts if not index else '':>11} {fit(side if not index else '', _SIDE - 13)} "
        out.append(((left, "dim"), (line, style)))
    return out


def _log_rows(s: Snapshot, log: Log, width: int) -> list[Row]:
    level = _LEVELS[log.level] if 0 <= log.level < len(_LEVELS) else str(log.level)
    lines = _lines(units.clock(log.ts - s.started), f"kernel {level}", log.text, _style(log), width)
    key = ("log", log.ts, log.text)
    rows = [row(*spans, key=key if not i else None, ts=log.ts, data=log) for i, spans in enumerate(lines)]
    if log.xid is not None:
        for line in wrap(xid.explain(log.xid), max(20, width - _SIDE)):
            rows.append(row((" " * _SIDE, ""), (line, "accent")))
    return rows


def _output_rows(s: Snapshot, chunk: Output, width: int) -> list[Row]:
    rows: list[Row] = []
    style = "warn" if chunk.stream == "stderr" else ""
    for index, text in enumerate(chunk.text.rstrip("\n").split("\n")):
        lines = _lines(units.clock(chunk.ts - s.started), f"{chunk.stream} {chunk.pid}", text, style, width)
        key = ("output", chunk.ts, chunk.pid, chunk.stream, index)
        rows += [row(*spans, key=key if not i else None, ts=chunk.ts) for i, spans in enumerate(lines)]
    return rows


def log_rows(s: Snapshot, width: int) -> list[Row]:
    """Kernel log and output in the order of time."""
    entries: list[Log | Output] = sorted([*s.log, *s.output], key=lambda entry: entry.ts)
    rows: list[Row] = []
    for entry in entries:
        rows += _log_rows(s, entry, width) if isinstance(entry, Log) else _output_rows(s, entry, width)
    return rows or [row(("the log is empty, and the programs wrote nothing", "dim"))]


class LogPane(Pane):
    """One clock for both: what the kernel said and what the program printed."""

    PERIOD = 0.5
    TAIL = True

    def draw(self, view: View) -> Drawing:
        rows = log_rows(view.snapshot, view.width)
        return Drawing([row((f"{'time s':>11} {'who':<{_SIDE - 13}} text", "label"))], rows)
