"""Doorbells and fences: progress per channel, where the time goes, and how it is distributed."""

from glassstack.format import units
from glassstack.model.entities import Channel, Completion
from glassstack.store.snapshot import LatencySummary, Snapshot
from glassstack.tui.callrow import device_name
from glassstack.tui.draw import Cell, Column, Row, Span, Table, blank, fit, row, rule, spark_rows
from glassstack.tui.latency import ChannelRates, channel_key, histogram, lane
from glassstack.tui.look import Look
from glassstack.tui.names import is_ended, process_name
from glassstack.tui.pane import Drawing, Pane, View

_CHANNELS = (
    Column("process", 22),
    Column("device", 9, needs=100),
    Column("ctx", 4, right=True, needs=100),
    Column("ch", 3, right=True),
    Column("doorbells", 11, right=True),
    Column("bell/s", 6, right=True),
    Column("jobs", 11, right=True, needs=100),
    Column("job/s", 6, right=True),
    Column("seqno", 10, right=True),
    Column("queued", 8, right=True),
    Column("last end", 9, right=True, needs=100),
    Column("state"),
)
_CHANNELS_NARROW = (Column("process", 18), *_CHANNELS[1:])
_LATELY_NS = 1_500_000_000
_JOBS = (
    Column("done at s", 12, right=True),
    Column("process", 22),
    Column("ch", 3, right=True),
    Column("seqno", 10, right=True),
    Column("queued", 9, right=True),
    Column("ran", 9, right=True),
    Column("wrote", 9, right=True, needs=90),
    Column("status"),
)
_LANE_NS = 1_000_000_000
_LANES_MOST = 8


def _last_ends(s: Snapshot) -> dict[tuple[int, str, int], int]:
    """When the newest job of each channel ended (ns), out of the completions."""
    return {(pid, device, entry.channel): entry.done_ns for pid, device, entry in s.completions}


def _state(s: Snapshot, c: Channel, done_ns: int, jobs: float | None) -> Span:
    if c.error:
        return (f"✗ Xid {c.error}", "bad")
    if is_ended(s, c.pid):
        return ("○ ended", "dim")
    if jobs or s.ts - done_ns < _LATELY_NS:
        return ("● busy", "ok")
    if c.ring_size and c.wptr != c.rptr and jobs is not None:
        return ("◐ stuck?", "warn")
    return ("○ idle", "dim")


def channel_rows(s: Snapshot, rates: ChannelRates, width: int) -> tuple[Row, list[Row]]:
    """A row per channel."""
    table = Table(_CHANNELS if width >= 100 else _CHANNELS_NARROW, width)
    ends = _last_ends(s)
    rows: list[Row] = []
    for c in sorted(s.channels, key=lambda c: (is_ended(s, c.pid), c.pid, c.context, c.index)):
        rate = rates.of(c)
        done = max(c.done_ns, ends.get((c.pid, c.device, c.index), 0))
        cells: list[Cell] = [
            (process_name(s, c.pid), "name"),
            (device_name(c.device), "dim"),
            str(c.context),
            str(c.index),
            units.grouped(c.doorbells),
            (units.rate(rate[0]) if rate else "-", "strong"),
            units.grouped(c.jobs),
            (units.rate(rate[1]) if rate else "-", "strong"),
            units.grouped(c.seqno),
            units.size((c.wptr - c.rptr) % 2**32) if c.ring_size else "no ring",
            (units.duration(max(0, s.ts - done)) if done else "-", "dim"),
            _state(s, c, done, rate[1] if rate else None),
        ]
        rows.append(table.row(cells, key=("channel", *channel_key(c)), ts=done, data=c))
    rows += [
        row((f"{process_name(s, pid)}: missing: {why}", "warn")) for pid, why in s.channels_missing.items()
    ]
    return table.head(), rows or [row(("no channel yet", "dim"))]


def _latency_rows(name: str, summary: LatencySummary | None, values: list[int], width: int) -> list[Row]:
    title = fit(name, 16)
    if summary is None:
        return [row((title, "label"), ("no job has ended yet", "dim"))]
    numbers = [("p50", summary.p50), ("p99", summary.p99), ("max", summary.max)]
    spans = [(title, "label")]
    for label, value in numbers:
        spans += [(f"{label} ", "dim"), (fit(units.duration(value), 10), "strong")]
    rows = [row(*spans, (f"of {units.grouped(summary.count)} jobs", "dim"))]
    found = histogram(values)
    if found:
        columns = [n for n in found.counts for _ in range(2)]
        shape = spark_rows(columns, len(columns), max(columns))
        edges = f"{units.duration(found.low)} ", f" {units.duration(found.high)}"
        rows.append(row((" " * 16, ""), (edges[0], "dim"), (shape[0], "busy"), (edges[1], "dim")))
    return rows


def latency_rows(s: Snapshot, width: int) -> list[Row]:
    """Waiting and running, as distributions: an average alone would hide the tail."""
    good = [entry for _, _, entry in s.completions if entry.status == 0]
    waited = [e.start_ns - e.queued_ns for e in good]
    ran = [e.done_ns - e.start_ns for e in good]
    rows = [rule("latency of the newest jobs", width)]
    rows += _latency_rows("queued to start", s.queue_latency, waited, width)
    rows += _latency_rows("start to done", s.run_latency, ran, width)
    if s.completions_lost:
        lost = units.grouped(s.completions_lost)
        rows.append(row((f"{lost} completions were overwritten before they could be read", "warn")))
    return rows


def lane_rows(s: Snapshot, width: int) -> list[Row]:
    """The engine's last second, a lane per channel."""
    if not s.completions:
        return []
    end = max(entry.done_ns for _, _, entry in s.completions)
    begin = end - _LANE_NS
    lanes: dict[tuple[int, str, int], list[Completion]] = {}
    for pid, device, entry in s.completions:
        if entry.done_ns >= begin:
            lanes.setdefault((pid, device, entry.channel), []).append(entry)
    cells = max(10, min(width - 24, 120))
    rows = [rule(f"engine, {units.duration(_LANE_NS)} up to {units.clock(end - s.started, 3)} s", width)]
    for (pid, _, channel), entries in sorted(lanes.items())[:_LANES_MOST]:
        line = spark_rows(lane(entries, begin, end, cells), cells, 100)[0]
        name = fit(f"{process_name(s, pid)} ch{channel}", 22)
        rows.append(row((name + " ", "label"), (line, "busy")))
    return rows


def job_rows(s: Snapshot, width: int, most: int) -> list[Row]:
    """The newest ended jobs, the newest first."""
    table = Table(_JOBS, width)
    rows = [rule("newest jobs", width), table.head()]
    newest = sorted(s.completions, key=lambda item: item[2].done_ns)[-most:]
    for pid, device, e in reversed(newest):
        cells: list[Cell] = [
            (units.clock(e.done_ns - s.started), "dim"),
            process_name(s, pid),
            str(e.channel),
            units.grouped(e.seqno),
            units.duration(e.start_ns - e.queued_ns),
            units.duration(e.done_ns - e.start_ns),
            units.size(e.bytes),
            (f"✗ Xid {e.status}", "bad") if e.status else ("ok", "dim"),
        ]
        rows.append(table.row(cells, key=("job", pid, device, e.channel, e.seqno), ts=e.done_ns, data=e))
    return rows


class FencesPane(Pane):
    """Progress that no syscall shows."""

    PERIOD = 1.0

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, id=id)
        self._rates = ChannelRates()

    def draw(self, view: View) -> Drawing:
        s, width = view.snapshot, view.width
        self._rates.add(s)
        head, channels = channel_rows(s, self._rates, width)
        body = [*channels, blank(), *latency_rows(s, width)]
        body += [*([blank()] if view.height > 30 else []), *lane_rows(s, width)]
        if s.completions:
            body += [blank()] if view.height > 30 else []
            body += job_rows(s, width, 100)
        return Drawing([head], body)
