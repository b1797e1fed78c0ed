"""Launches from the API's side: every function counted, and some launches followed to their fence."""

from collections import deque

from glassstack.format import units
from glassstack.model.entities import Tally
from glassstack.model.events import Tallies
from glassstack.store import jobs
from glassstack.store.functions import MEASURED, why_none
from glassstack.store.snapshot import Snapshot
from glassstack.tui.draw import Cell, Column, Row, Table, blank, row, rule, wrap
from glassstack.tui.launchrow import COLUMNS, WIDE, launch_row, missing_row
from glassstack.tui.look import Look
from glassstack.tui.names import process_name
from glassstack.tui.pane import Drawing, Pane, View

_FUNCTIONS = (
    Column("process", 16),
    Column("function", 23),
    Column("calls", 9, right=True),
    Column("/s", 5, right=True),
    Column("p50", 6, right=True),
    Column("p99", 6, right=True),
    Column("max", 6, right=True),
)
_ROOMY = tuple(Column(c.title, c.width + 4, c.right) for c in _FUNCTIONS)
_SPAN_NS = 2_000_000_000
_MOST = 200
_DEAR = 5.0
"""Per cent of a processor from which on the cost of counting is a warning."""

Key = tuple[int, str]


class FunctionRates:
    """Calls a second of each function, from the counts of the last two seconds."""

    def __init__(self) -> None:
        self._seen: dict[int, deque[tuple[int, dict[str, int]]]] = {}

    def add(self, tallies: tuple[Tallies, ...]) -> None:
        """Takes note of counts."""
        for event in tallies:
            held = self._seen.setdefault(event.pid, deque())
            if held and event.ts < held[-1][0]:
                held.clear()
            if not held or event.ts > held[-1][0]:
                held.append((event.ts, {tally.name: tally.calls for tally in event.tallies}))
            while len(held) > 2 and event.ts - held[1][0] >= _SPAN_NS:
                held.popleft()

    def of(self, pid: int, name: str) -> float | None:
        """``None`` before two counts were seen."""
        held = self._seen.get(pid)
        if not held or len(held) < 2:
            return None
        (begin, old), (end, new) = held[0], held[-1]
        return (new.get(name, 0) - old.get(name, 0)) * 1e9 / (end - begin)


def _at_most(tally: Tally, share: float) -> str:
    return _short(tally.percentile(share)) if tally.timed else "-"


def _short(ns: int) -> str:
    """At most two digits before the unit's: bounds need no more."""
    return units.duration(float(f"{ns:.2g}")).replace(" ", "")


def function_rows(s: Snapshot, rates: FunctionRates, width: int) -> list[Row]:
    """A row per process and function of the libraries; times are bounds out of log2 histograms."""
    table = Table(_ROOMY if width >= WIDE else _FUNCTIONS, width)
    rows = [rule("functions of UMD and runtime; p50, p99: at most, to a factor of 2", width), table.head()]
    for event in sorted(s.tallies, key=lambda event: event.pid):
        counted = [tally for tally in event.tallies if tally.library != "syscall"]
        for tally in sorted(counted, key=lambda tally: (-tally.calls, tally.name)):
            rate = rates.of(event.pid, tally.name)
            cells: list[Cell] = [
                (process_name(s, event.pid), "name"),
                tally.name,
                units.grouped(tally.calls),
                ("-" if rate is None else units.rate(rate), "strong"),
                _at_most(tally, 0.5),
                _at_most(tally, 0.99),
                _short(tally.max_ns) if tally.timed else "-",
            ]
            rows.append(table.row(cells, key=("function", event.pid, tally.name), ts=event.ts, data=tally))
    return rows


def source_rows(s: Snapshot, rates: FunctionRates, width: int) -> list[Row]:
    """Who measured the functions, and what that costs the programs."""
    why = why_none(s.tallies)
    if why:
        return [row((line, "warn")) for line in wrap(f"functions: not available: {why}", width)]
    cost = max((event.cost_ns for event in s.tallies), default=0)
    text = f"{MEASURED}, each call counted"
    if not cost:
        return [row((f"{text}; what that costs the program is not known", "dim"))]
    calls = sum(
        rates.of(event.pid, tally.name) or 0.0
        for event in s.tallies
        for tally in event.tallies
        if tally.library != "syscall"
    )
    share = calls * cost / 1e7
    text += f"; it adds {units.duration(cost)} a call"
    text += f", now {share:.2g} % of a processor" if share else ""
    return [row((line, "warn" if share > _DEAR else "dim")) for line in wrap(text, width)]


def followed_rows(s: Snapshot, width: int, most: int) -> tuple[list[Row], list[Row]]:
    """Launches that were followed, the newest first: the ``most`` newest rows, and the others."""
    found = list(s.launches)
    if found:
        rows = [rule("launches followed to their fence, times since the call", width)]
    else:
        rows = [rule("jobs followed to their fence, times since SUBMIT or doorbell", width)]
        found = jobs.followed(s, _MOST)
    if not found:
        return [*rows, row(("none followed yet", "dim"))], []
    emulated = any(device.driver == "embedded" for device in s.devices)
    which = f"{s.launches_sample} of a process, all are counted"
    if not s.launches:
        which = "out of the completion rings; the API is not seen"
    said = "emulated device" if emulated else "device measured"
    rows.append(row((f"{which}; {said}", "dim")))
    table = Table(COLUMNS, width)
    rows.append(table.head())
    begun = len(rows)
    for pid, launch in sorted(found, key=lambda item: -item[1].called_ns)[:_MOST]:
        rows.append(launch_row(table, s.started, pid, process_name(s, pid), launch, width >= WIDE))
        if (launch.note or launch.status) and width < WIDE:
            rows.append(missing_row(launch))
    return rows[: begun + most], rows[begun + most :]


class LaunchesPane(Pane):
    """What the API was asked for, while the boundary is silent."""

    PERIOD = 1.0

    def __init__(self, look: Look, *, id: str) -> None:
        super().__init__(look, id=id)
        self._rates = FunctionRates()

    def draw(self, view: View) -> Drawing:
        s, width = view.snapshot, view.width
        self._rates.add(s.tallies)
        gap = [blank()] if view.height > 30 else []
        newest, older = followed_rows(s, width, max(4, view.height // 2 - 4))
        rows = [*source_rows(s, self._rates, width), *newest]
        if not why_none(s.tallies):
            rows += [*gap, *function_rows(s, self._rates, width)]
        if older:
            rows += [*gap, rule("older launches", width), *older]
        return Drawing((), rows)
