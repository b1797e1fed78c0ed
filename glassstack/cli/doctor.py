"""``glassstack doctor``: what works on this machine, why the rest doesn't, and what to do.

Owns the report and the exit code: 4 when something is missing that the
embedded GPU needs. The probes are the collectors'.
"""

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from glassstack import __version__
from glassstack.cli.columns import cells
from glassstack.cli.errors import MISSING, OK
from glassstack.collectors.capabilities import NEEDED, CapabilityCollector
from glassstack.collectors.probe_machine import Absent
from glassstack.collectors.probe_terminal import utf8_locale
from glassstack.format.text import plain
from glassstack.gpu.artifacts import Artifacts, MissingArtifactError
from glassstack.model.codec import encode_line
from glassstack.model.entities import Capability
from glassstack.model.events import Capabilities

_GREEN, _RED, _DIM, _RESET = "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="one event with all capabilities on stdout")


def run(args: argparse.Namespace) -> int:
    """Asks every probe and prints what it said."""
    (event,) = CapabilityCollector(find_launcher()).sample()
    assert isinstance(event, Capabilities)
    if args.json:
        print(encode_line(event).decode())
    else:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        style = Style.of(os.environ, sys.stdout.isatty())
        print("\n".join(report(event.capabilities, style)))
    return OK if all(one.ready for one in event.capabilities if one.name in NEEDED) else MISSING


def find_launcher() -> Path | Absent:
    """The embedded device's launcher, or why there is none."""
    try:
        return Artifacts().bin("fakegpu-run")
    except MissingArtifactError as error:
        return Absent(error.cause, error.remedy)


class Style:
    """Marks and colours for a place to print to."""

    def __init__(self, colour: bool, utf8: bool, width: int) -> None:
        self.ready, self.absent, self.arrow = (
            ("✓ ready", "✗ missing", "→") if utf8 else ("ready", "MISSING", "->")
        )
        self.utf8 = utf8
        self.colour = colour
        self.width = width

    @classmethod
    def of(cls, environ: Mapping[str, str], tty: bool) -> "Style":
        """What a terminal described by ``environ`` takes; pipes get no colour and no wrapping."""
        colour = tty and not environ.get("NO_COLOR") and environ.get("TERM", "dumb") != "dumb"
        return cls(colour, utf8_locale(environ), shutil.get_terminal_size().columns if tty else 0)

    def paint(self, text: str, colour: str) -> str:
        """``text`` in a colour where there is one."""
        return f"{colour}{text}{_RESET}" if self.colour else text


def report(capabilities: tuple[Capability, ...], style: Style) -> list[str]:
    """All lines: what the embedded GPU needs, the rest, and the verdict."""
    machine = f"Linux {platform.release()} {platform.machine()}, Python {platform.python_version()}"
    lines = [f"glassstack {__version__} on {machine}", "", "needed for the embedded GPU"]
    lines += _section([one for one in capabilities if one.name in NEEDED], style)
    lines += ["", "for more"]
    lines += _section([one for one in capabilities if one.name not in NEEDED], style)
    absent = [one.name for one in capabilities if one.name in NEEDED and not one.ready]
    verdict = (
        f"the embedded GPU can not run: {', '.join(absent)}" if absent else "the embedded GPU can run here"
    )
    return [*lines, "", verdict]


def _section(capabilities: list[Capability], style: Style) -> list[str]:
    names = max(cells(one.name) for one in capabilities)
    marks = max(cells(style.ready), cells(style.absent))
    lines = []
    for one in capabilities:
        mark = (style.ready if one.ready else style.absent).ljust(marks)
        head = f"  {style.paint(mark, _GREEN if one.ready else _RED)}  {one.name.ljust(names)}  "
        indent = 2 + marks + 2 + names + 2
        why = _wrap(_text(one.why, style), style.width - indent)
        lines += [head + why[0], *(" " * indent + more for more in why[1:])]
        if one.remedy:
            remedy = _wrap(f"{style.arrow} {_text(one.remedy, style)}", style.width - indent)
            lines += [" " * indent + style.paint(part, _DIM) for part in remedy]
    return [line.rstrip() for line in lines]


def _text(text: str, style: Style) -> str:
    safe = plain(text)
    return safe if style.utf8 else safe.replace("×", "x").encode("ascii", "backslashreplace").decode()


def _wrap(text: str, width: int) -> list[str]:
    """Words on lines of ``width`` columns; as it is where there is no width to speak of."""
    if width < 10:
        return [text]
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and cells(lines[-1]) + 1 + cells(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines
