"""``glassstack holders``: what holds a device: processes, by descriptor or mapping, and modules.

Owns the text; looking is the collector's.
"""

import argparse
import os

from glassstack.cli.columns import cut, table
from glassstack.cli.repeat import add_repeat_arguments, repeat
from glassstack.collectors.holders import HolderCollector
from glassstack.format.text import plain
from glassstack.model.events import Event, Holders

HEADER = ("DEVICE", "PID", "NS PID", "USER", "HOW", "DETAIL", "CONTAINER", "COMMAND")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--drivers, --once, --json, --interval."""
    parser.add_argument(
        "--drivers",
        action="store_true",
        help="list the embedded device's own process too (it keeps nothing busy)",
    )
    add_repeat_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Shows what holds a device now."""
    return repeat(args, HolderCollector(drivers=args.drivers).sample, draw)


def draw(events: list[Event], width: int) -> list[str]:
    """One row per descriptor, mapping and module, and what could not be looked into."""
    lines: list[str] = []
    for event in events:
        if isinstance(event, Holders):
            lines += _rows(event, width) if event.holders else ["nobody holds a device"]
            lines += _unreadable(event.unreadable)
    return [cut(line, width) for line in lines] if width else lines


def _rows(event: Holders, width: int) -> list[str]:
    rows = [
        (
            plain(one.device),
            str(one.pid or "-"),
            str(one.ns_pid or "-"),
            plain(one.user) or "-",
            one.how,
            one.detail,
            plain(one.container) or "-",
            plain(one.command),
        )
        for one in sorted(event.holders, key=lambda one: (one.device, one.pid))
    ]
    return table(HEADER, rows, width, right=(1, 2))


def _unreadable(count: int) -> list[str]:
    if not count:
        return []
    processes = "1 process" if count == 1 else f"{count} processes"
    remedy = "" if os.geteuid() == 0 else "; root sees more"
    return ["", f"{processes} could not be looked into and may hold a device too{remedy}"]
