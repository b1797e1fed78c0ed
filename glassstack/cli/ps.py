"""``glassstack ps``: processes with both PID views, cgroup, container and device.

Owns the text; looking is the collector's.
"""

import argparse

from glassstack.cli.columns import cut, table
from glassstack.cli.repeat import add_repeat_arguments, repeat
from glassstack.collectors.processes import ProcessCollector
from glassstack.format import units
from glassstack.format.text import plain
from glassstack.model.entities import ProcessInfo
from glassstack.model.events import Event, Processes

HEADER = ("PID", "NS PID", "USER", "S", "THR", "RSS", "CPU %", "DEVICE", "CONTAINER", "CGROUP", "COMMAND")
_NUMBERS = ("PID", "NS PID", "THR", "RSS", "CPU %")
_CGROUP_MAX = 32
_WIDE = 120
_WIDE_ONLY = ("THR", "CGROUP")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--all, --once, --json, --interval."""
    parser.add_argument("--all", action="store_true", help="the kernel's own threads too")
    add_repeat_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Shows the process list."""
    return repeat(args, ProcessCollector(kernel_threads=args.all).sample, draw)


def draw(events: list[Event], width: int) -> list[str]:
    """One row per process: those that hold a device first, then by pid."""
    lines: list[str] = []
    for event in events:
        if isinstance(event, Processes):
            rows = [
                _row(one, width) for one in sorted(event.processes, key=lambda one: (not one.gpu, one.pid))
            ]
            lines += table(HEADER, rows, width, right=(0, 1, 4, 5, 6))
    return [cut(line, width) for line in lines] if width else lines


def _table(rows: list[tuple[str, ...]], width: int) -> list[str]:
    narrow = 0 < width < _WIDE
    kept = [index for index, title in enumerate(HEADER) if not (narrow and title in _WIDE_ONLY)]
    header = [HEADER[index] for index in kept]
    numbers = [position for position, title in enumerate(header) if title in _NUMBERS]
    return table(header, [[row[index] for index in kept] for row in rows], width, numbers)


def _row(one: ProcessInfo, width: int) -> tuple[str, ...]:
    inner = ">".join(map(str, one.ns_pids[1:])) or "-"
    cgroup = plain(one.cgroup)
    if width and len(cgroup) > _CGROUP_MAX:
        cgroup = cut(cgroup[: _CGROUP_MAX + 1], _CGROUP_MAX)
    return (
        str(one.pid),
        inner,
        plain(one.user),
        one.state,
        str(one.threads),
        units.size(one.rss),
        f"{one.cpu:.1f}",
        plain(one.gpu) or "-",
        plain(one.container) or "-",
        cgroup or "-",
        plain(one.command) or f"[{plain(one.name)}]",
    )
