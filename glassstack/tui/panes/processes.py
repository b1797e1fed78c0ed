"""Processes in both PID views: who uses the GPU, who is traced, and which one to watch."""

from glassstack.format import units
from glassstack.model.entities import ProcessInfo
from glassstack.store.snapshot import Snapshot, Tracked
from glassstack.tui.callrow import device_name
from glassstack.tui.draw import Cell, Column, Row, Span, Table, blank, row, rule
from glassstack.tui.names import short_command
from glassstack.tui.pane import Drawing, Pane, View

_TRACED = (
    Column("pid", 8, right=True),
    Column("parent", 8, right=True),
    Column("threads", 7, right=True),
    Column("state", 18),
    Column("command"),
)
_COLUMNS = (
    Column("pid", 8, right=True),
    Column("in ns", 7, right=True),
    Column("user", 10),
    Column("cpu %", 6, right=True),
    Column("rss", 9, right=True),
    Column("thr", 4, right=True, needs=90),
    Column("gpu", 12),
    Column("container", 14, needs=130),
    Column("command"),
)


def _depth(t: Tracked, parents: dict[int, int]) -> int:
    depth, pid = 0, t.ppid
    while pid in parents and depth < 8:
        depth, pid = depth + 1, parents[pid]
    return depth


def traced_rows(s: Snapshot, width: int) -> list[Row]:
    """The processes that are traced now, and those that ended."""
    if not s.tracked:
        return []
    table = Table(_TRACED, width)
    parents = {t.pid: t.ppid for t in s.tracked}
    rows = [rule("traced", width), table.head()]
    last = {event.pid: event.ts for event in s.process_events}
    for t in s.tracked:
        ended = t.ended not in ("", "exit 0", "detached")
        state: Span = ("● running", "ok")
        if t.ended:
            state = (f"✗ {t.ended}", "bad") if ended else (f"○ {t.ended}", "dim")
        cells: list[Cell] = [
            str(t.pid),
            (str(t.ppid) if t.ppid else "-", "dim"),
            str(len(t.threads)) if t.threads else "-",
            state,
            ("  " * _depth(t, parents) + short_command(t.command), "name"),
        ]
        rows.append(table.row(cells, key=("traced", t.pid), ts=last.get(t.pid, 0), data=t))
    return [*rows, blank()]


def _process_row(table: Table, p: ProcessInfo) -> Row:
    inner = p.ns_pids[-1] if len(p.ns_pids) > 1 else 0
    cells: list[Cell] = [
        str(p.pid),
        (str(inner) if inner else "-", "dim"),
        p.user,
        f"{p.cpu:.0f}",
        units.size(p.rss),
        str(p.threads),
        (f"● {device_name(p.gpu.split(' ')[0])}", "ok") if p.gpu else ("-", "dim"),
        (p.container or "-", "dim"),
        (short_command(p.command) or p.name, "name" if p.gpu else ""),
    ]
    return table.row(cells, key=("process", p.pid), data=p)


def process_rows(s: Snapshot, width: int) -> list[Row]:
    """Every process, users of a GPU first."""
    rows = [rule("all processes; Enter watches one", width)]
    if s.processes is None:
        return [*rows, row(("not looked at yet", "dim"))]
    table = Table(_COLUMNS, width)
    ordered = sorted(s.processes, key=lambda p: (not p.gpu, p.pid))
    return [*rows, table.head(), *(_process_row(table, p) for p in ordered)]


class ProcessesPane(Pane):
    """The process picker."""

    PERIOD = 2.0

    def draw(self, view: View) -> Drawing:
        s = view.snapshot
        return Drawing((), traced_rows(s, view.width) + process_rows(s, view.width))

    def enter(self, row: Row) -> None:
        if isinstance(row.data, ProcessInfo):
            self.post_message(self.Pick(row.data.pid))
        else:
            super().enter(row)
