"""`glassstack compare A B`: two runs lined up by phase, so that what one does is read beside the other."""

import argparse
import json
from pathlib import Path

from glassstack.cli.columns import table
from glassstack.cli.errors import FAILED, OK, CommandError
from glassstack.cli.inputs import batches
from glassstack.decoders.phases import TABLES, Phase, Tally, Walk
from glassstack.format import units
from glassstack.format.text import plain

Labels = tuple[str, str]
_SHOWN = 6
"""Names of a phase that a row has room for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A, B and how to show them."""
    for name in ("a", "b"):
        parser.add_argument(
            name,
            metavar=name.upper(),
            type=Path,
            help="recording, NDJSON of trace --json, strace log, or steps of minirt",
        )
    parser.add_argument(
        "--phases", choices=sorted(TABLES), default="gpu", help="the table of phases (default gpu)"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="NDJSON on stdout, one object a phase")
    form.add_argument("--markdown", action="store_true", help="a table of what is the same in every run")


def walk(path: Path, phases: str) -> Walk:
    """A run sorted into phases; CommandError where the file has none of them."""
    found = Walk(TABLES[phases])
    for batch in batches(path, found.table.also):
        found.add(batch)
    if not found.tallies:
        title = TABLES[phases].title
        raise CommandError(f"{path}: no call in it belongs to a phase of: {title}", "see --phases", FAILED)
    return found


def names(tally: Tally | None, most: int = _SHOWN) -> str:
    """What was called, how often: "open ×2, RM_ALLOC NV01_DEVICE_0"."""
    if tally is None:
        return "-"
    words = [f"{plain(name)} ×{count}" if count > 1 else plain(name) for name, count in tally.names.items()]
    left = len(words) - most
    return ", ".join(words[:most]) + (f", {left} more" if left > 0 else "")


def _cells(tally: Tally | None, silence_ns: int) -> tuple[str, str]:
    if tally is None:
        return ("0", f"silent {units.duration(silence_ns)}") if silence_ns else ("-", "-")
    failed = f" ({tally.failed} failed)" if tally.failed else ""
    return f"{tally.events}{failed}", units.duration(tally.total_ns) if tally.total_ns else "-"


def rows(a: Walk, b: Walk) -> list[tuple[Phase, Tally | None, Tally | None]]:
    """The phases of which at least one run has something, and the one that has nothing to be seen."""
    found = ((phase, a.tallies.get(phase.key), b.tallies.get(phase.key)) for phase in a.table.phases)
    return [row for row in found if row[1] is not None or row[2] is not None or row[0].key == a.table.silent]


def text(a: Walk, b: Walk, labels: Labels) -> list[str]:
    """Both runs side by side: counts and times, then what was called."""
    cells = []
    for phase, one, other in rows(a, b):
        silent = phase.key == a.table.silent
        left, right = (
            _cells(tally, run.silence_ns if silent else 0) for tally, run in ((one, a), (other, b))
        )
        cells.append((phase.title, *left, *right))
    lines = [f"A  {plain(labels[0])}", f"B  {plain(labels[1])}", ""]
    lines += table(("phase", "A calls", "A took", "B calls", "B took"), cells, right=range(1, 5))
    for phase, one, other in rows(a, b):
        lines += ["", f"{phase.title}: {phase.text}", f"  A  {names(one)}", f"  B  {names(other)}"]
    for label, run in (("A", a), ("B", b)):
        if run.other.events:
            lines += ["", f"{label}, in no phase: {names(run.other)}"]
    return lines


def markdown(a: Walk, b: Walk, labels: Labels) -> list[str]:
    """A table without what differs from run to run."""
    lines = [f"| phase | what happens | {labels[0]} | {labels[1]} |", "|---|---|---|---|"]
    for phase, one, other in rows(a, b):
        none = "no call" if phase.key == a.table.silent else "–"
        cells = [none if tally is None else names(tally, 12) for tally in (one, other)]
        lines.append(f"| {phase.title} | {phase.text} | {cells[0]} | {cells[1]} |")
    return lines


def objects(a: Walk, b: Walk, labels: Labels) -> list[str]:
    """One JSON object a phase."""

    def side(tally: Tally | None) -> dict[str, object] | None:
        if tally is None:
            return None
        return {"calls": tally.events, "failed": tally.failed, "ns": tally.total_ns, "names": tally.names}

    lines: list[dict[str, object]] = [
        {"phase": phase.key, "title": phase.title, "a": side(one), "b": side(other)}
        for phase, one, other in rows(a, b)
    ]
    silence = {"phase": "silence", "a": {"ns": a.silence_ns}, "b": {"ns": b.silence_ns}}
    return [json.dumps(line) for line in [*lines, silence]]


def run(args: argparse.Namespace) -> int:
    """Reads both and prints."""
    a, b = (walk(path, args.phases) for path in (args.a, args.b))
    form = objects if args.json else markdown if args.markdown else text
    print("\n".join(form(a, b, (str(args.a), str(args.b)))))
    return OK
