"""Containers: the start step by step, then host and container side by side, and the device list."""

from glassstack.decoders.device_list import EVERYTHING
from glassstack.decoders.steps import meaning
from glassstack.format import fields, units
from glassstack.model.entities import Container
from glassstack.model.events import Step
from glassstack.store.containers import Contrast, contrasts, lost, rule_text
from glassstack.store.snapshot import Snapshot
from glassstack.tui.draw import Cell, Column, Row, Span, Table, blank, row, rule
from glassstack.tui.pane import Drawing, Pane, View

_STEPS = (
    Column("at", 10, right=True),
    Column("step", 13),
    Column("took", 9, right=True),
    Column("result", 8),
    Column("detail"),
    Column("makes", 11, needs=120),
)
_VIEWS = (
    Column("", 2),
    Column("what", 22),
    Column("host"),
    Column("container"),
)


def _detail(step: Step) -> str:
    return " ".join(f"{name}={fields.value(name, value)}" for name, value in step.detail.items())


def _step_row(table: Table, step: Step, begin: int) -> Row:
    cells: list[Cell] = [
        (f"{units.clock(step.ts - begin, 6)}", "dim"),
        (step.name, "name"),
        units.duration(step.dur_ns),
        (step.errno, "bad") if step.errno else ("ok", "dim"),
        _detail(step),
        (meaning(step.name).layer, "quiet"),
    ]
    return table.row(cells, key=("step", step.container, step.ts, step.name, step.pid), ts=step.ts, data=step)


def step_rows(steps: list[Step], width: int) -> list[Row]:
    """A container's steps in order, times since the first."""
    table = Table(_STEPS, width)
    begin = min(step.ts for step in steps)
    took = max(step.ts + step.dur_ns for step in steps) - begin
    bad = sum(1 for step in steps if step.errno)
    head = f"{len(steps)} steps in {units.duration(took)}" + (f", {bad} failed" if bad else "")
    return [row((head, "strong")), table.head(), *(_step_row(table, step, begin) for step in steps), blank()]


def _contrast_row(table: Table, container: str, line: Contrast) -> Row:
    style = "accent" if line.differs else "dim"
    cells: list[Cell] = [
        ("≠", "accent") if line.differs else "",
        line.what,
        (line.host, "dim"),
        (line.inside, style),
    ]
    return table.row(cells, key=("view", container, line.group, line.what, line.host), data=line)


def view_rows(s: Snapshot, container: Container, width: int) -> list[Row]:
    """Host view and container view; what differs is marked."""
    if s.host is None:
        return []
    table = Table(_VIEWS, width)
    rows: list[Row] = []
    group = ""
    for line in contrasts(s.host, container, s.devices):
        if line.group != group:
            group = line.group
            rows += [row((group, "label"))] if rows else [table.head(), row((group, "label"))]
        rows.append(_contrast_row(table, container.id, line))
    rows += [row((f"missing: {why}", "warn")) for why in container.world.missing]
    return [*rows, blank()]


def device_rows(container: Container, steps: list[Step]) -> list[Row]:
    """The device list as the kernel has it."""
    devices = container.devices
    rows = [row(("device list", "label"))]
    if gone := lost(container, steps):
        rows.append(row((f"✗ {gone}", "bad")))
    if devices.missing:
        return [*rows, row((f"missing: {devices.missing}", "warn")), blank()]
    if devices.rules == EVERYTHING:
        return [*rows, row(("nothing decides: every device is allowed", "warn")), blank()]
    if not devices.programs:
        rows.append(row(f"devices.list of {devices.cgroup} (cgroup v1)"))
    for one in devices.programs:
        where = one.attached or "outside this view"
        rows.append(
            row((f"program {one.id} ", ""), (one.name or "-", "name"), (f" tag {one.tag} at {where}", "dim"))
        )
    rows += [
        row(f"  {rule_text(one)}", key=("rule", container.id, rule_text(one)), data=one)
        for one in devices.rules or ()
    ]
    return [*rows, row(("  everything else is denied", "dim")), blank()]


_OVERVIEW = (
    Column("container", 22),
    Column("runtime", 8),
    Column("pid", 8, right=True),
    Column("state"),
    Column("device list", 14),
    Column("cgroup", 34, needs=110),
)


def outcome(steps: list[Step]) -> Span:
    """How a container that is gone ended, by its steps; a kill for want of memory is said first."""
    last = {step.name: step for step in steps}
    killed = last["oom"].detail.get("kills") if "oom" in last else 0
    if killed:
        limit = last["oom"].detail.get("limit", "?")
        return (f"✗ OOM: {killed} killed, limit of {limit}", "bad")
    failed = [step for step in steps if step.errno]
    if "exec" not in last:
        return (
            f"✗ did not start: {failed[-1].name}: {failed[-1].errno}" if failed else "✗ did not start",
            "bad",
        )
    status = last["exit"].detail.get("status") if "exit" in last else None
    return ("○ ended" if status is None else f"○ exit {status}", "warn" if status else "dim")


def overview(s: Snapshot, steps: dict[str, list[Step]], width: int) -> list[Row]:
    """A row per container, living and ended."""
    table = Table(_OVERVIEW, width)
    rows = [table.head()]
    for one in s.containers or ():
        gone = lost(one, steps.get(one.id, []))
        devices: Span = (f"{len(one.devices.rules or ())} rules", "")
        if gone or one.devices.missing or one.devices.rules == EVERYTHING:
            devices = ("✗ lost" if gone else "not known" if one.devices.missing else "allows all", "warn")
        state: Span = (f"● {len(one.world.processes)} processes", "ok")
        cells: list[Cell] = [
            (one.id, "name"),
            one.runtime or "-",
            str(one.pid),
            state,
            devices,
            one.cgroup or "/",
        ]
        rows.append(table.row(cells, key=("container", one.id), data=one))
    for name in _ended(steps, s):
        cells = [(name, "name"), "minirt", "-", outcome(steps[name]), ("-", "dim"), ("-", "dim")]
        rows.append(table.row(cells, key=("container", name), ts=steps[name][-1].ts))
    return [*rows, blank()]


def _ended(steps: dict[str, list[Step]], s: Snapshot) -> list[str]:
    """Containers of which only the steps are left."""
    alive = {container.id for container in s.containers or ()}
    return [name for name in steps if name not in alive]


def container_rows(s: Snapshot, width: int) -> list[Row]:
    """Everything known about containers: the living first."""
    steps: dict[str, list[Step]] = {}
    for step in s.steps:
        steps.setdefault(step.container, []).append(step)
    rows = overview(s, steps, width) if steps or s.containers else []
    for container in s.containers or ():
        title = " ".join(filter(None, (container.runtime, container.id)))
        rows.append(rule(f"{title}, pid {container.pid} in {container.cgroup or '/'}", width))
        mine = steps.get(container.id, [])
        rows += step_rows(mine, width) if mine else []
        rows += device_rows(container, mine) + view_rows(s, container, width)
    for name in _ended(steps, s):
        rows += [rule(f"minirt {name}, ended", width), *step_rows(steps[name], width)]
    if rows:
        return rows
    if s.containers is None:
        return [row(("not looked at yet", "dim"))]
    return [row("no containers: no process is in another PID namespace")]


class ContainersPane(Pane):
    """How a container came to be, and what it sees."""

    PERIOD = 1.0

    def draw(self, view: View) -> Drawing:
        return Drawing((), container_rows(view.snapshot, view.width))
