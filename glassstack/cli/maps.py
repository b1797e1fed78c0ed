"""``glassstack maps [PID…]``: what processes have mapped of a GPU and of its libraries.

Owns the text; reading is the collector's.
"""

import argparse
import time

from glassstack.cli.columns import cut, table
from glassstack.cli.pids import Watched, add_pids_argument
from glassstack.cli.repeat import add_repeat_arguments, repeat
from glassstack.collectors.maps import Maps
from glassstack.format import units
from glassstack.format.text import plain
from glassstack.model.entities import Mapping
from glassstack.model.events import Event, Mappings
from glassstack.model.values import Source

HEADER = ("WHAT", "SIZE", "PERM", "OFFSET", "ADDRESS", "VERSION", "DEVICE OR FILE")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """PID…, --once, --json, --interval."""
    add_pids_argument(parser)
    add_repeat_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Shows the mappings of the named processes, or of all that map a GPU."""
    maps, watched = Maps(), Watched(args.pids)
    seen: dict[int, tuple[Mapping, ...]] = {}

    def read(pid: int) -> None:
        seen[pid] = maps.read(pid)

    def sample() -> list[Event]:
        seen.clear()
        pids = watched.look(read)
        return [Mappings(time.monotonic_ns(), Source.POLL, pid, seen[pid]) for pid in pids]

    return repeat(args, sample, lambda events, width: [*draw(events, width), *watched.note()])


def draw(events: list[Event], width: int) -> list[str]:
    """A block per process: device memory first, then libraries."""
    blocks = [_block(event, width) for event in events if isinstance(event, Mappings)]
    lines = [line for block in blocks for line in ["", *block]][1:]
    lines = lines or ["no process maps a GPU"]
    return [cut(line, width) for line in lines] if width else lines


def _block(event: Mappings, width: int) -> list[str]:
    if not event.mappings:
        return [f"pid {event.pid} maps no GPU and none of its libraries"]
    rows = [
        _row(m)
        for m in sorted(
            event.mappings, key=lambda m: (not m.device, m.device, m.inode, m.context, m.offset, m.start)
        )
    ]
    device = sum(m.size for m in event.mappings if m.device)
    title = f"pid {event.pid}: {len(event.mappings)} mappings, {units.size(device)} of the device"
    return [title, *table(HEADER, rows, width, right=(1, 3))]


def _row(m: Mapping) -> tuple[str, ...]:
    what = m.what if m.channel is None else f"{m.what} {m.channel}"
    where = m.device or m.path
    if m.context:
        where += f" (context {m.context})"
    elif m.path.startswith("/memfd:"):
        where += f" (file {m.inode})"
    return (
        what,
        units.size(m.size),
        m.perms,
        units.address(m.offset),
        units.address(m.start),
        m.version or "-",
        plain(where),
    )
