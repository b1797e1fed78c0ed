"""``glassstack image scan ROOTFS``: libraries of a driver that an image brings and must not.

Owns the text; looking is containers/.
"""

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from glassstack.cli.columns import table
from glassstack.cli.errors import FAILED, OK, USAGE, CommandError
from glassstack.containers.scan import Found, scan
from glassstack.format.text import plain

_WHY = {
    "driver": "shadows the driver of the host: remove it from the image, injection brings the right one",
    "compat": "runs only where the driver of the host is older: keep it off the loader's path elsewhere",
    "stub": "to link with; no loader may find it",
}
_HEADER = ("KIND", "VERSION", "FOUND BY", "PATH")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """scan ROOTFS [--json]."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    one = verbs.add_parser("scan", help="1 when the image brings a driver, 0 when not")
    one.add_argument("rootfs", type=Path, metavar="ROOTFS", help="folder with the unpacked image")
    one.add_argument("--json", action="store_true", help="one line of JSON for each library")


def run(args: argparse.Namespace) -> int:
    """Scans; FAILED when a driver or a compatibility package is there."""
    try:
        found = list(scan(args.rootfs, _unreadable))
    except OSError as error:
        raise CommandError(
            f"can't read {args.rootfs}: {error.strerror}", "name the folder of an unpacked image", USAGE
        ) from error
    if args.json:
        for one in found:
            print(json.dumps(dataclasses.asdict(one)))
    elif found:
        _draw(found)
    else:
        print("no driver in it")
    return FAILED if any(one.kind != "stub" for one in found) else OK


def _unreadable(path: Path, why: str) -> None:
    print(f"glassstack: {plain(str(path))} was not looked into: {plain(why)}", file=sys.stderr)


def _draw(found: list[Found]) -> None:
    rows = [(one.kind, plain(one.version) or "-", one.by, plain(one.path)) for one in found]
    print("\n".join(table(_HEADER, rows)))
    for kind, why in _WHY.items():
        if any(one.kind == kind for one in found):
            print(f"{kind}: {why}")
