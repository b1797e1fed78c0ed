"""One clock: everything that happened around a moment, whichever layer saw it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from glassstack.format import units
from glassstack.model.events import Syscall
from glassstack.store.snapshot import Snapshot
from glassstack.tui.callrow import took
from glassstack.tui.draw import Row, fit, row

WINDOW_NS = 50_000_000
"""How far "around" reaches, each way."""
MOST = 200
"""How many happenings are listed, the nearest ones."""
_SLACK = 100_000_000  # calls of several witnesses arrive in batches, so their order is loose by this much


@dataclass(frozen=True)
class Happening:
    """Something with a time: ``kind`` is "call", "log", "job", "process" or "output"."""

    ts: int
    kind: str
    text: str
    bad: bool = False
    of: object = None  # jobs of one channel in a row are shown as one line


def is_near(ts: int, moment: int) -> bool:
    """True inside the window."""
    return abs(ts - moment) <= WINDOW_NS


def _first_call(snapshot: Snapshot, ts: int) -> int:
    """Number of the first call that ended at ``ts`` or later, about: calls are stored as they end."""
    low, high = snapshot.calls.first, snapshot.calls_end
    while low < high:
        middle = (low + high) // 2
        call = snapshot.calls.get(middle)
        if call is None or call.end < ts:
            low = middle + 1
        else:
            high = middle
    return low


def calls_near(snapshot: Snapshot, moment: int) -> Iterator[tuple[int, Syscall]]:
    """Numbers and calls whose start or end lies in the window."""
    for number in range(_first_call(snapshot, moment - WINDOW_NS - _SLACK), snapshot.calls_end):
        call = snapshot.calls.get(number)
        if call is None:
            continue
        if call.ts - moment > WINDOW_NS + _SLACK:
            return
        if call.ts <= moment + WINDOW_NS and call.end >= moment - WINDOW_NS:
            yield number, call


def _happenings(s: Snapshot, moment: int) -> Iterator[Happening]:
    for _, call in calls_near(s, moment):
        result = call.errno or took(call)
        text = f"{call.name} pid {call.pid} {call.device.removeprefix('/dev/')} {result}"
        yield Happening(call.ts, "call", text, call.errno is not None)
    for log in s.log:
        yield Happening(log.ts, "log", log.text, log.xid is not None)
    for uevent in s.uevents:
        what = uevent.device or uevent.devpath
        yield Happening(uevent.ts, "uevent", f"{uevent.action} {what}", uevent.action == "remove")
    for pid, device, entry in s.completions:
        status = f" Xid {entry.status}" if entry.status else ""
        text = f"pid {pid} {device.removeprefix('/dev/')} ch {entry.channel} seqno {entry.seqno}{status}"
        of = (pid, device, entry.channel, entry.status)
        yield Happening(entry.done_ns, "job", text, entry.status != 0, of)
    for event in s.process_events:
        end = event.signal or ("" if event.status is None else str(event.status))
        yield Happening(event.ts, "process", f"{event.what} pid {event.pid} {event.command} {end}".rstrip())
    for chunk in s.output:
        yield Happening(chunk.ts, "output", f"pid {chunk.pid} {chunk.stream}: {chunk.text.strip()}")


def around(snapshot: Snapshot, moment: int) -> tuple[list[Happening], int]:
    """The nearest happenings in time order, and how many more there were."""
    found = [h for h in _happenings(snapshot, moment) if h.kind == "call" or is_near(h.ts, moment)]
    found.sort(key=lambda h: abs(h.ts - moment))
    return sorted(found[:MOST], key=lambda h: h.ts), max(0, len(found) - MOST)


def counts(happenings: list[Happening]) -> str:
    """How many of each kind: ``12 calls, 3 jobs, 1 log line``."""
    names = {
        "call": ("call", "calls"),
        "job": ("job", "jobs"),
        "log": ("log line", "log lines"),
        "uevent": ("uevent", "uevents"),
        "process": ("process event", "process events"),
        "output": ("line of output", "lines of output"),
    }
    totals = {kind: sum(1 for h in happenings if h.kind == kind) for kind in names}
    parts = [f"{n} {names[kind][n != 1]}" for kind, n in totals.items() if n]
    return ", ".join(parts) or "nothing"


def _runs(happenings: list[Happening]) -> list[list[Happening]]:
    """Neighbours that are jobs of one channel, together."""
    runs: list[list[Happening]] = []
    for happening in happenings:
        if runs and happening.of is not None and runs[-1][-1].of == happening.of:
            runs[-1].append(happening)
        else:
            runs.append([happening])
    return runs


def rows(snapshot: Snapshot, moment: int) -> list[Row]:
    """The list as the inspector shows it, times relative to the moment."""
    happenings, more = around(snapshot, moment)
    out = [row((f"{counts(happenings)} within ±{units.duration(WINDOW_NS)}", "dim"))]
    for run in _runs(happenings):
        first = run[0]
        delta = first.ts - moment
        when = "now" if delta == 0 else f"{'+' if delta > 0 else ''}{units.duration(delta)}"
        style = "bad" if first.bad else "strong" if delta == 0 else ""
        text = first.text if len(run) == 1 else f"{first.text} and {len(run) - 1} more in order"
        out.append(row((f"{fit(when, 9, right=True)} {first.kind:<7} ", "dim"), (text, style)))
    if more:
        out.append(row((f"and {units.grouped(more)} more, farther away", "dim")))
    return out
