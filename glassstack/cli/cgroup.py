"""``glassstack cgroup [PID]``: the cgroups of a process with the limits that count.

Owns the text; reading is the collector's.
"""

import argparse
import os
from collections.abc import Iterable, Iterator

from glassstack.cli.columns import cut, table
from glassstack.cli.errors import CommandError
from glassstack.cli.repeat import add_repeat_arguments, repeat, require_process
from glassstack.collectors.cgroup import CgroupCollector
from glassstack.format import units
from glassstack.format.text import plain
from glassstack.model.entities import Cgroup, Limit
from glassstack.model.events import Cgroups, Event
from glassstack.model.values import Missing
from glassstack.store.cgroups import ooms, share

_USAGE = (("memory.current", "MEMORY"), ("pids.current", "PIDS"), ("cpu.usage_usec", "CPU TIME"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """PID (default: glassstack's own), --once, --json, --interval."""
    add_repeat_arguments(parser, pid="optional")


def run(args: argparse.Namespace) -> int:
    """Shows the cgroups of one process."""
    pid = os.getpid() if args.pid is None else args.pid
    collector = CgroupCollector(lambda: (pid,))

    def sample() -> list[Event]:
        require_process(pid)
        event = collector.of(pid)
        if event.missing and not event.tree:
            require_process(pid)
            raise CommandError(f"no cgroups of pid {pid}: {event.missing}")
        return [event]

    return repeat(args, sample, draw)


def draw(events: list[Event], width: int) -> list[str]:
    """The limits that count, then the tree of each hierarchy."""
    lines: list[str] = []
    for event in events:
        if isinstance(event, Cgroups):
            lines += _event(event, width)
    return [cut(line, width) for line in lines] if width else lines


def _event(event: Cgroups, width: int) -> list[str]:
    own = [group for group in event.tree if group.relation == "own"]
    lines = [f"pid {event.pid} in {plain(event.own)}", "", *_counting(own, width)]
    for first in own:
        part = [group for group in event.tree if _hierarchy(group) == _hierarchy(first)]
        lines += ["", _title(first), *_tree(part, width)]
    notes = [*ooms(event.tree), *_reasons(event.tree), *filter(None, event.partial.split("; "))]
    return [*lines, *([""] if notes else []), *(f"note: {plain(note)}" for note in notes)]


def _reasons(groups: Iterable[Cgroup]) -> list[str]:
    """Why something is missing, each reason once."""
    found = (
        f"{key} missing in {group.path}: {value.why}"
        for group in groups
        for key, value in group.usage.items()
        if isinstance(value, Missing) and group.relation != "child"
    )
    return list(dict.fromkeys(found))


def _hierarchy(group: Cgroup) -> tuple[int, tuple[str, ...]]:
    # In v2 the controllers differ from cgroup to cgroup; there is one hierarchy.
    return group.version, group.controllers if group.version == 1 else ()


def _title(group: Cgroup) -> str:
    return "cgroup v2" if group.version == 2 else f"cgroup v1: {', '.join(group.controllers)}"


def _counting(own: list[Cgroup], width: int) -> list[str]:
    rows = [_limit(limit, group) for group in own for limit in group.limits]
    return table(("LIMIT", "COUNTS", "SET BY", "IN USE", "OWN"), rows, width, right=(1, 3, 4), flex=2)


def _limit(limit: Limit, group: Cgroup) -> tuple[str, str, str, str, str]:
    used = share(group, limit)
    setter = "" if limit.effective is None else plain(limit.set_by)
    own = units.limit(limit.name, limit.own)
    return (
        limit.name,
        plain(units.limit(limit.name, limit.effective)),
        setter,
        "" if used is None else f"{used * 100:.0f} %",
        plain(own),
    )


def _tree(groups: list[Cgroup], width: int) -> list[str]:
    names = [limit.name for limit in groups[0].limits]
    limited = [name for name in names if any(_own(group, name) is not None for group in groups)]
    counted = [(key, title) for key, title in _USAGE if any(key in group.usage for group in groups)]
    header = ("CGROUP", *limited, *(title for _, title in counted), "PROCESSES", "EVENTS")
    rows = [
        (
            plain(label),
            *(plain(units.limit(name, _own(group, name))) for name in limited),
            *(_usage(key, group.usage.get(key)) for key, _ in counted),
            str(len(group.pids)),
            " ".join(f"{key}={count}" for key, count in group.events.items() if count),
        )
        for label, group in _labelled(groups)
    ]
    return table(header, rows, width, right=range(1, len(header) - 1), flex=0)


def _own(group: Cgroup, name: str) -> int | float | Missing | None:
    return next((limit.own for limit in group.limits if limit.name == name), None)


def _usage(key: str, value: int | Missing | None) -> str:
    if value is None or isinstance(value, Missing):
        return "-" if value is None else "missing"
    if key.startswith("memory."):
        return units.size(value)
    return units.duration(value * 1000) if key.startswith("cpu.") else str(value)


def _labelled(groups: list[Cgroup]) -> Iterator[tuple[str, Cgroup]]:
    """Each with its name indented by depth; the process's own is marked with a "*"."""
    depth = 0
    for group in groups:
        name = group.path if not depth else group.path.rsplit("/", 1)[-1]
        mark = "* " if group.relation == "own" else "  "
        yield mark + "  " * depth + name, group
        depth += group.relation != "child"
