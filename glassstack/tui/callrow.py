"""A call as a row: the same columns on the home screen and in the ioctl pane. Pure."""

from glassstack.format import fields, units
from glassstack.model.events import Syscall
from glassstack.store.snapshot import Snapshot
from glassstack.tui.draw import Cell, Column, Row, Span, Table

WIDE = 100
"""From this width on the device and the result have columns of their own."""
_POINTERS = ("packets", "arg", "addr")
_COLUMNS = (
    Column("time s", 11, right=True),
    Column("pid", 7, right=True),
    Column("device", 10, needs=WIDE),
    Column("call", 15),
    Column("fields"),
    Column("result", 14, right=True, needs=WIDE),
    Column("took", 9, right=True),
)


def table(width: int) -> Table:
    """The columns that fit."""
    return Table(_COLUMNS, width)


def device_name(path: str) -> str:
    """``fakegpu0`` of ``/dev/fakegpu0``; a dash where a call is on no device."""
    return path.rpartition("/")[2] or "-"


def result(call: Syscall) -> Span:
    """What came back: the errno's name, an address, or the number."""
    if call.errno is not None:
        return (call.errno, "bad")
    if call.failure is not None:
        return (call.failure.partition(" ")[0], "bad")
    if call.syscall == "mmap":
        return (units.address(call.ret), "")
    return (str(call.ret), "")


def fields_line(call: Syscall) -> str:
    """The fields, what tells calls apart first: pointers last, an absolute deadline as the time left."""
    shown = {name: value for name, value in call.fields.items() if name not in _POINTERS}
    deadline = shown.pop("deadline_ns", 0)
    text = [fields.line(shown)] if shown else []
    if isinstance(deadline, int) and deadline:
        text.append(f"deadline={'+' if deadline >= call.ts else ''}{units.duration(deadline - call.ts)}")
    text += [fields.line({name: call.fields[name]}) for name in _POINTERS if name in call.fields]
    return " ".join(text)


def took(call: Syscall) -> str:
    """How long a call took."""
    return "?" if call.dur_ns is None else units.duration(call.dur_ns)


def call_row(columns: Table, width: int, started: int, call: Syscall, number: int) -> Row:
    """The row of a call; its key is the call's number."""
    outcome = result(call)
    cells: tuple[Cell, ...] = (
        (units.clock(call.ts - started), "dim"),
        (str(call.pid), "dim"),
        (device_name(call.device), "dim"),
        (call.name, "name"),
        fields_line(call),
        outcome,
        # A narrow screen has no room for the result: a failure takes the place of the duration.
        outcome if width < WIDE and call.failure is not None else (took(call), "dim"),
    )
    return columns.row(cells, key=number, ts=call.ts, data=call)


def newest(snapshot: Snapshot, width: int, most: int) -> list[Row]:
    """The newest calls, the last one last."""
    columns = table(width)
    first = max(snapshot.calls.first, snapshot.calls_end - most)
    numbered = ((n, snapshot.calls.get(n)) for n in range(first, snapshot.calls_end))
    return [call_row(columns, width, snapshot.started, call, n) for n, call in numbered if call is not None]
