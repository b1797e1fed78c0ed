"""The kernel log (the embedded device has a stand-in) with Xids explained, uevents, programs' output."""

from glassstack.decoders import xid
from glassstack.format import units
from glassstack.model.events import Log, Output, Uevent
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


def _uevent_rows(s: Snapshot, event: Uevent, width: int) -> list[Row]:
    what = event.device or event.devpath
    more = "".join(f" {name}={value}" for name, value in event.properties.items())
    text = f"{event.action} {what} ({event.subsystem}){more}"
    lines = _lines(units.clock(event.ts - s.started), f"uevent {event.via}", text, "", width)
    key = ("uevent", event.seqnum, event.ts)
    return [row(*spans, key=key if not i else None, ts=event.ts, data=event) for i, spans in enumerate(lines)]


def _rows(s: Snapshot, entry: Log | Output | Uevent, width: int) -> list[Row]:
    if isinstance(entry, Log):
        return _log_rows(s, entry, width)
    return _uevent_rows(s, entry, width) if isinstance(entry, Uevent) else _output_rows(s, entry, width)


def log_rows(s: Snapshot, width: int) -> list[Row]:
    """Kernel log, device events and output in the order of time."""
    entries: list[Log | Output | Uevent] = [*s.log, *s.output, *s.uevents]
    rows: list[Row] = []
    for entry in sorted(entries, key=lambda entry: entry.ts):
        rows += _rows(s, entry, width)
    return rows or [row(("the log is empty, and the programs wrote nothing", "dim"))]


class LogPane(Pane):
    """One clock for both: what the kernel said and what the program printed."""

    PERIOD = 0.5
    TAIL = True

    def draw(self, view: View) -> Drawing:
        rows = log_rows(view.snapshot, view.width)
        return Drawing([row((f"{'time s':>11} {'who':<{_SIDE - 13}} text", "label"))], rows)
