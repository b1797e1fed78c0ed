"""`glassstack unknown FILE`: what the decoders had no name for, counted: the rows that a table lacks."""

import argparse
import json
import sys
from pathlib import Path

from glassstack.cli.columns import table
from glassstack.cli.errors import OK
from glassstack.cli.inputs import batches
from glassstack.format.text import plain
from glassstack.model.events import Event, Syscall

_MOST = 100_000


class Unknown:
    """Counts by what is unknown and where."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        """(driver's node without number, what) → how often."""
        self.calls = 0

    def add(self, event: Event) -> None:
        """Counts an event."""
        if not isinstance(event, Syscall):
            return
        self.calls += 1
        what = event.fields.get("unknown")
        if what is None and event.name.startswith("ioctl 0x"):
            what = event.name
        if what is not None and len(self.counts) < _MOST:
            key = (event.device.rstrip("0123456789"), str(what))
            self.counts[key] = self.counts.get(key, 0) + 1

    def rows(self) -> list[tuple[str, str, int]]:
        """Node, what, how often; the most frequent first."""
        found = [(device, what, count) for (device, what), count in self.counts.items()]
        return sorted(found, key=lambda row: (-row[2], row[:2]))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE and --json."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="recording, NDJSON of trace --json, strace log"
    )
    parser.add_argument("--json", action="store_true", help="NDJSON on stdout, one object a kind")


def run(args: argparse.Namespace) -> int:
    """Reads the file and lists."""
    unknown = Unknown()
    for batch in batches(args.file):
        for event in batch:
            unknown.add(event)
    rows = unknown.rows()
    if args.json:
        for device, what, count in rows:
            print(json.dumps({"device": device, "unknown": what, "calls": count}))
    elif rows:
        cells = [(str(count), plain(device), plain(what)) for device, what, count in rows]
        print("\n".join(table(("calls", "node", "unknown"), cells, right=range(1))))
    print(
        f"glassstack: {sum(row[2] for row in rows)} of {unknown.calls} calls have no name here",
        file=sys.stderr,
    )
    return OK
