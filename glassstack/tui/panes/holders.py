"""Who holds a device, by descriptor or by mapping: why a module can't be unloaded."""

from stat import S_IFCHR, filemode

from glassstack.model.entities import Holder
from glassstack.store.snapshot import Snapshot
from glassstack.tui.callrow import device_name
from glassstack.tui.draw import Cell, Column, Row, Table, blank, row, rule
from glassstack.tui.names import command_name
from glassstack.tui.pane import Drawing, Pane, View

_COLUMNS = (
    Column("pid", 8, right=True),
    Column("in ns", 7, right=True, needs=90),
    Column("user", 10),
    Column("command", 18),
    Column("how", 8),
    Column("detail"),
    Column("container", 14, needs=120),
    Column("cgroup", 30, needs=130),
)
_NODE_COLUMNS = (
    Column("node", 14),
    Column("number", 8),
    Column("mode", 10),
    Column("owner", 14),
    Column("sysfs"),
)


def _plural(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _summary(device: str, holders: list[Holder]) -> str:
    descriptors = sum(1 for h in holders if h.how == "fd")
    mappings = sum(1 for h in holders if h.how == "mapping")
    processes = len({h.pid for h in holders})
    if device.startswith("module "):
        return f"{device}: {_plural(len(holders), 'module needs', 'modules need')} it"
    return (
        f"{device_name(device)}: {_plural(descriptors, 'descriptor', 'descriptors')}, "
        f"{_plural(mappings, 'mapping', 'mappings')}, {_plural(processes, 'process', 'processes')}"
    )


def _holder_row(table: Table, h: Holder) -> Row:
    cells: list[Cell] = [
        str(h.pid or "-"),
        (str(h.ns_pid) if h.ns_pid else "-", "dim"),
        h.user or "-",
        (command_name(h.command), "name"),
        h.how,
        h.detail,
        (h.container or "-", "dim"),
        (h.cgroup or "-", "dim"),
    ]
    return table.row(cells, key=("holder", h.pid, h.device, h.how, h.detail), data=h)


def _node_rows(s: Snapshot, width: int) -> list[Row]:
    """The nodes of the kernel's drivers in /dev, with what sysfs has of them."""
    if not s.nodes:
        return []
    table = Table(_NODE_COLUMNS, width)
    rows = [rule(_plural(len(s.nodes), "node in /dev", "nodes in /dev"), width), table.head()]
    for node in s.nodes:
        values = " ".join(f"{name}={value}" for name, value in node.attributes.items())
        cells: list[Cell] = [
            (device_name(node.path), "name"),
            f"{node.major}:{node.minor}",
            filemode(S_IFCHR | node.mode),
            node.owner,
            (f"missing: {node.missing}", "warn") if node.missing else (values, ""),
        ]
        rows.append(table.row(cells, key=("node", node.path), data=node))
    return [*rows, blank()]


def holder_rows(s: Snapshot, width: int) -> list[Row]:
    """Holders by device."""
    if s.holders is None:
        return [row(("not looked at yet", "dim"))]
    table = Table(_COLUMNS, width)
    rows: list[Row] = []
    for device in sorted({h.device for h in s.holders}):
        mine = [h for h in s.holders if h.device == device]
        rows += [rule(_summary(device, mine), width), table.head()]
        rows += [_holder_row(table, h) for h in sorted(mine, key=lambda h: (h.pid, h.how, h.detail))]
        rows.append(blank())
    if not rows:
        rows = [row("nobody holds a device"), blank()]
    rows += _node_rows(s, width)
    if s.holders_unreadable:
        count = _plural(s.holders_unreadable, "process", "processes")
        rows.append(row((f"{count} could not be looked into; root sees all", "warn")))
    return rows


class HoldersPane(Pane):
    """Descriptors and mappings; a mapping outlives the descriptor it was made from."""

    PERIOD = 1.0

    def draw(self, view: View) -> Drawing:
        return Drawing((), holder_rows(view.snapshot, view.width))
