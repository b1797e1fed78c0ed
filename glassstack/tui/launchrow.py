"""A followed launch as a row and as a panel: API → ring → doorbell → job start → fence. Pure."""

from glassstack.format import units
from glassstack.model.entities import Launch
from glassstack.tui.callrow import device_name
from glassstack.tui.draw import Cell, Column, Row, Table, row

WIDE = 120
COLUMNS = (
    Column("called at s", 12, right=True),
    Column("process", 18),
    Column("ch", 2, right=True),
    Column("ring at", 10, right=True, needs=WIDE),
    Column("seqno", 8, right=True, needs=WIDE),
    Column("API", 8, right=True),
    Column("doorbell", 8, right=True),
    Column("start", 8, right=True),
    Column("fence", 8, right=True),
    Column("device"),
)
_UNSEEN = "-"


def after(launch: Launch, ts: int | None) -> str:
    """A stage, as time since the call."""
    return _UNSEEN if ts is None else units.duration(ts - launch.called_ns)


def start_of(launch: Launch) -> str:
    """When its job began; "joined" where that was before the call."""
    joined = launch.start_ns is not None and launch.start_ns < launch.called_ns
    return "joined" if joined else after(launch, launch.start_ns)


def outcome(launch: Launch) -> str:
    """Who told the device's side, or what is missing and why."""
    if launch.status:
        return f"✗ Xid {launch.status}"
    return launch.note or launch.by


def _last(launch: Launch, wide: bool) -> Cell:
    """Who saw it; where there is no room, only whether all is well."""
    if launch.status or launch.note:
        return (outcome(launch) if wide else "below", "bad" if launch.status else "warn")
    return (launch.by if wide else "ok", "dim")


def launch_row(table: Table, started: int, pid: int, name: str, launch: Launch, wide: bool) -> Row:
    """One line; its key is the launch."""
    cells: list[Cell] = [
        (units.clock(launch.called_ns - started), "dim"),
        name,
        _UNSEEN if launch.channel is None else str(launch.channel),
        (launch.via or _UNSEEN if launch.wptr is None else units.grouped(launch.wptr), "dim"),
        (_UNSEEN if launch.seqno is None else units.grouped(launch.seqno), "dim"),
        after(launch, launch.returned_ns) if launch.function else _UNSEEN,
        after(launch, launch.doorbell_ns),
        start_of(launch),
        (after(launch, launch.done_ns), "strong"),
        _last(launch, wide),
    ]
    key = ("launch", pid, launch.tid, launch.called_ns)
    return table.row(cells, key=key, ts=launch.called_ns, data=launch)


def missing_row(launch: Launch) -> Row:
    """What a narrow screen has no column for."""
    return row(("  └ ", "rule"), (outcome(launch), "bad" if launch.status else "warn"))


def _api(launch: Launch) -> str:
    if not launch.function:
        return "not available: no uprobe"
    by = "the ioctl, measured" if launch.function == "SUBMIT" else "measured (uprobe)"
    return f"returned after {after(launch, launch.returned_ns)}; {by}"


def facts(launch: Launch, started: int) -> list[tuple[str, str]]:
    """Label and value of each stage, for the side panel."""
    where = f"{device_name(launch.device)} context {launch.context}" if launch.device else "not known"
    channel = "" if launch.channel is None else f", channel {launch.channel}"
    ring = "SUBMIT: its packets went by ioctl" if launch.via == "submit" else _UNSEEN
    if launch.wptr is not None:
        ring = f"packet before wptr {units.grouped(launch.wptr)}"
    seqno = _UNSEEN if launch.seqno is None else launch.seqno
    said = "joined a job that had begun before" if start_of(launch) == "joined" else start_of(launch)
    return [
        ("function", f"{launch.function}, thread {launch.tid}" if launch.function else "not seen"),
        ("called", f"{units.clock(launch.called_ns - started, 9)} s"),
        ("API", _api(launch)),
        ("on", where + channel),
        ("ring", ring),
        ("doorbell", f"seen by the device after {after(launch, launch.doorbell_ns)}"),
        ("job start", said),
        ("fence", f"seqno {seqno} after {after(launch, launch.done_ns)}"),
        ("device side", launch.by or "not seen"),
        ("outcome", outcome(launch) if launch.status or launch.note else "ok"),
    ]
