"""Mappings of the device and its libraries, and the command rings with their packets."""

from itertools import groupby

from glassstack.format import fields, units
from glassstack.model.entities import Mapping
from glassstack.model.events import Ring
from glassstack.store.snapshot import Snapshot
from glassstack.tui.callrow import device_name
from glassstack.tui.draw import Cell, Column, Row, Table, bar, blank, row, rule
from glassstack.tui.names import is_ended, living_first, process_name
from glassstack.tui.pane import Drawing, Pane, View

_COLUMNS = (
    Column("what", 13),
    Column("size", 9, right=True),
    Column("perm", 4),
    Column("offset", 12, right=True),
    Column("start", 14),
    Column("end", 14, needs=110),
    Column("inode", 9, right=True, needs=130),
    Column("version", 10, needs=100),
    Column("file"),
)
_PACKETS = (
    Column("", 2),
    Column("position", 12, right=True),
    Column("packet", 9),
    Column("size", 7, right=True),
    Column("state", 8),
    Column("fields"),
)


def _mapping_row(table: Table, width: int, pid: int, m: Mapping) -> Row:
    what = f"{m.what} ch{m.channel}" if m.channel is not None else m.what
    return table.row(
        [
            (what, "name" if m.device else ""),
            units.size(m.size),
            (m.perms, "dim"),
            units.address(m.offset),
            (units.address(m.start), "dim"),
            (units.address(m.end), "dim"),
            (str(m.inode) if m.inode else "-", "dim"),
            m.version or "-",
            (m.device or (m.path if width >= 100 else m.path.rpartition("/")[2]), "dim"),
        ],
        key=("map", pid, m.start),
        data=m,
    )


def mapping_rows(s: Snapshot, width: int) -> list[Row]:
    """Every mapping by process, device memory first."""
    table = Table(_COLUMNS, width)
    rows: list[Row] = []
    for pid in living_first(s, s.mappings.keys() | s.mappings_missing.keys()):
        found = sorted(s.mappings.get(pid, ()), key=lambda m: (not m.device, m.offset, m.start))
        device = sum(m.size for m in found if m.device)
        ended = ", ended; last seen" if is_ended(s, pid) else ""
        title = f"{process_name(s, pid)}{ended}: {len(found)} mappings, {units.size(device)} of the device"
        rows += [rule(title, width), table.head()]
        if pid in s.mappings_missing:
            rows.append(row((f"missing: {s.mappings_missing[pid]}", "warn")))
        rows += [_mapping_row(table, width, pid, m) for m in found]
        rows.append(blank())
    return rows or [row(("no process looked at yet", "dim")), blank()]


def ring_line(ring: Ring, width: int) -> Row:
    """The ring as a track: what lies between rptr and wptr is not consumed yet."""
    size = max(1, ring.size)
    begin, end = ring.rptr % size / size, ring.wptr % size / size
    queued = (ring.wptr - ring.rptr) % 2**32
    track = "█" * (width - 2) if queued >= size else bar(begin, end, width - 2)
    spans = [("".join(run), "busy" if cell == "█" else "rule") for cell, run in groupby(track)]
    return row(("[", "dim"), *spans, ("]", "dim"))


def pointer_line(ring: Ring, width: int) -> Row:
    """Markers under the track at rptr and wptr."""
    size, cells = max(1, ring.size), [" "] * width
    for pointer, sign in ((ring.wptr, "w"), (ring.rptr, "r")):
        place = 1 + min(int(pointer % size / size * (width - 2)), width - 3)
        cells[place] = "b" if cells[place] == "w" else sign
    return row(("".join(cells), "accent"))


def _packet_rows(ring: Ring, table: Table) -> list[Row]:
    rows: list[Row] = []
    for packet in ring.packets:
        at = packet.position
        sign = "r" if at == ring.rptr % max(1, ring.size) else ""
        pending = packet.state == "pending"
        cells: list[Cell] = [
            (sign, "accent"),
            (units.grouped(at), "dim"),
            (packet.name, "name"),
            f"{packet.size} B",
            (packet.state, "warn" if pending else "dim"),
            fields.line(packet.fields),
        ]
        key = ("packet", ring.device, ring.context, ring.channel, at)
        rows.append(table.row(cells, key=key, ts=ring.ts, data=packet))
    return rows


def ring_rows(s: Snapshot, width: int) -> list[Row]:
    """Every ring that could be read, with its packets."""
    table = Table(_PACKETS, width)
    rows: list[Row] = []
    for ring in s.rings:
        queued = (ring.wptr - ring.rptr) % 2**32
        title = f"ring ch{ring.channel} of {process_name(s, ring.pid)}, {device_name(ring.device)}"
        numbers = f"wptr {units.grouped(ring.wptr)}  rptr {units.grouped(ring.rptr)}"
        track = min(width, 120)
        rows += [
            rule(f"{title}, context {ring.context}", width),
            row((numbers, ""), (f"  {units.size(queued)} queued of {units.size(ring.size)}", "dim")),
            ring_line(ring, track),
            pointer_line(ring, track),
            table.head(),
            *_packet_rows(ring, table),
            blank(),
        ]
    return rows or [rule("rings", width), row(("none seen: no channel with a ring, or not readable", "dim"))]


class MapsPane(Pane):
    """What a process shares with the device, and what it put there."""

    PERIOD = 0.5

    def draw(self, view: View) -> Drawing:
        rows = mapping_rows(view.snapshot, view.width) + ring_rows(view.snapshot, view.width)
        return Drawing((), rows)
