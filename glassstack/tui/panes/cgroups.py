"""Cgroups: the limits that count for a process, who sets them, and the tree they come from."""

from glassstack.format import units
from glassstack.model.entities import Cgroup, Limit
from glassstack.model.values import Missing
from glassstack.store import cgroups
from glassstack.store.snapshot import CgroupView, Snapshot
from glassstack.tui.draw import Cell, Column, Row, Table, blank, row, rule
from glassstack.tui.names import is_ended, living_first, process_name
from glassstack.tui.pane import Drawing, Pane, View

_LIMITS = (
    Column("limit", 18),
    Column("own", 12, right=True),
    Column("effective", 14, right=True),
    Column("in use", 7, right=True),
    Column("set by"),
)
_TREE = (
    Column("cgroup"),
    Column("memory", 10, right=True),
    Column("pids", 7, right=True),
    Column("cpu time", 10, right=True, needs=90),
    Column("own limits", 34),
    Column("waits (10 s)", 20, needs=130),
    Column("events", 18, needs=120),
)


def _shown(name: str, value: int | float | Missing | None) -> str:
    return "missing" if isinstance(value, Missing) else units.limit(name, value)


def _usage(cgroup: Cgroup, name: str) -> str:
    value = cgroup.usage.get(name)
    if value is None:
        return "-"
    if isinstance(value, Missing):
        return "missing"
    if name == "cpu.usage_usec":
        return units.duration(value * 1000)
    return units.size(value) if name.startswith("memory") else units.grouped(value)


def _own_limits(cgroup: Cgroup) -> str:
    values = [(limit.name, limit.own) for limit in cgroup.limits]
    return ", ".join(
        f"{name.removesuffix('.max')} {_shown(name, own)}"
        for name, own in values
        if own is not None and not isinstance(own, Missing)
    )


def _limit_row(table: Table, limit: Limit, group: Cgroup, pid: int) -> Row:
    path = group.path
    used = cgroups.share(group, limit)
    inherited = limit.set_by not in ("", path)
    capped = limit.effective is not None and not isinstance(limit.effective, Missing)
    who: Cell = ("no limit anywhere above", "dim")
    if isinstance(limit.effective, Missing):
        who = (limit.effective.why, "warn")
    elif capped:
        who = (f"▲ {limit.set_by}", "warn") if inherited else "itself"
    cells: list[Cell] = [
        limit.name,
        _shown(limit.name, limit.own),
        (_shown(limit.name, limit.effective), "strong"),
        ("-", "dim") if used is None else (f"{used * 100:.0f} %", "bad" if used > 0.95 else ""),
        who,
    ]
    return table.row(cells, key=("limit", pid, path, limit.name), data=limit)


def _tree_rows(table: Table, pid: int, view: CgroupView) -> list[Row]:
    rows: list[Row] = []
    for cgroup in view.tree:
        depth = cgroup.path.rstrip("/").count("/")
        name = cgroup.path.rpartition("/")[2] or "/"
        own = cgroup.relation == "own" or (not cgroup.relation and cgroup.path == view.own)
        label = f"{'  ' * min(depth, 12)}{'◆ ' if own else ''}{name}"
        happened = ", ".join(f"{event} {n}" for event, n in cgroup.events.items() if n)
        if cgroup.version == 1:
            label += f" [{','.join(cgroup.controllers)}]"
        cells: list[Cell] = [
            (label, "strong" if own else ""),
            _usage(cgroup, "memory.current"),
            _usage(cgroup, "pids.current"),
            _usage(cgroup, "cpu.usage_usec"),
            (_own_limits(cgroup) or "-", "" if _own_limits(cgroup) else "dim"),
            (cgroups.pressure(cgroup) or "-", "warn" if cgroups.pressure(cgroup) else "dim"),
            (happened or "-", "warn" if happened else "dim"),
        ]
        key = ("cgroup", pid, cgroup.path, cgroup.controllers)
        rows.append(table.row(cells, key=key, data=cgroup))
    return rows


def _process_rows(s: Snapshot, pid: int, view: CgroupView, width: int) -> list[Row]:
    ended = ", ended; last seen" if is_ended(s, pid) else ""
    rows = [rule(f"{process_name(s, pid)}{ended} in {view.own or '/'}", width)]
    if view.missing:
        return [*rows, row((f"missing: {view.missing}", "warn")), blank()]
    limits = Table(_LIMITS, width)
    own = [c for c in view.tree if c.relation == "own" or (not c.relation and c.path == view.own)]
    rows.append(limits.head())
    rows += [_limit_row(limits, limit, c, pid) for c in own for limit in c.limits]
    if not any(c.limits for c in own):
        rows.append(row(("no controller with a limit reaches this process", "dim")))
    rows += [row((f"✗ {line}", "bad")) for line in cgroups.ooms(view.tree)]
    tree = Table(_TREE, width)
    rows += [blank(), tree.head(), *_tree_rows(tree, pid, view)]
    if view.partial:
        rows.append(row((f"partial: {view.partial}", "warn")))
    return [*rows, blank()]


class CgroupsPane(Pane):
    """Own limit, effective limit, and the ancestor that sets it."""

    PERIOD = 1.0

    def draw(self, view: View) -> Drawing:
        s = view.snapshot
        rows: list[Row] = []
        for pid in living_first(s, s.cgroups):
            rows += _process_rows(s, pid, s.cgroups[pid], view.width)
        return Drawing((), rows or [row(("no process looked at yet", "dim"))])
