"""``glassstack doctor``: where this host's GPU stack breaks, and what glassstack itself can do here.

Owns the report and the exit code: 4 when something is missing that the
embedded GPU needs, 1 when a rung of the ladder is broken. The probes and the
reading are the collectors', the judgement is the diagnosis's.
"""

import argparse
import json
import os
import platform
import pwd
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from glassstack import __version__
from glassstack.cli import doctor_ladder
from glassstack.cli.columns import cells
from glassstack.cli.errors import FAILED, MISSING, OK, CommandError
from glassstack.cli.repeat import require_process
from glassstack.collectors.capabilities import NEEDED, CapabilityCollector
from glassstack.collectors.host import Host
from glassstack.collectors.host_process import pid_of_container
from glassstack.collectors.probe_machine import Absent
from glassstack.collectors.probe_terminal import utf8_locale
from glassstack.diagnose.doctor import Visit, bundle
from glassstack.diagnose.doctor import visit as look_at
from glassstack.diagnose.ladder import first_broken
from glassstack.diagnose.redact import Redactor
from glassstack.format.text import plain
from glassstack.gpu.artifacts import Artifacts, MissingArtifactError
from glassstack.model.codec import encode_line
from glassstack.model.entities import Capability
from glassstack.model.events import Capabilities

_GREEN, _RED, _DIM, _RESET = "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--pid, --container, --bundle, --tools, --json."""
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--pid", type=int, help="look from inside this process: its libraries, cgroup, limits")
    whose.add_argument("--container", metavar="ID", help="the same for the first process of a container")
    whose.add_argument("--tools", action="store_true", help="only what glassstack itself can do here")
    parser.add_argument(
        "--bundle", metavar="FILE", help="also write all that was read, redacted, as a .tar.gz"
    )
    parser.add_argument("--json", action="store_true", help="one object on stdout: capabilities and ladder")


def run(args: argparse.Namespace) -> int:
    """Climbs the ladder, asks every probe, and prints what they said."""
    visit = None if getattr(args, "tools", False) else _visit(args)
    (event,) = CapabilityCollector(find_launcher()).sample()
    assert isinstance(event, Capabilities)
    if args.json:
        told = json.loads(encode_line(event))
        print(json.dumps(told | ({} if visit is None else {"ladder": doctor_ladder.as_json(visit)})))
    else:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        style = Style.of(os.environ, sys.stdout.isatty())
        climbed = [] if visit is None else [*doctor_ladder.lines(visit, _whose(args)), ""]
        safe = [line if style.utf8 else _text(line, style) for line in climbed]
        print("\n".join([*safe, *report(event.capabilities, style)]))
    if not all(one.ready for one in event.capabilities if one.name in NEEDED):
        return MISSING
    return FAILED if visit is not None and first_broken(visit.rungs) else OK


def _whose(args: argparse.Namespace) -> str:
    pid, container = getattr(args, "pid", None), getattr(args, "container", None)
    return f"process {pid}" if pid else f"container {plain(container)}" if container else "this host"


def _visit(args: argparse.Namespace) -> Visit:
    """Reads this host, and a process where one was named. Raises CommandError."""
    pid: int | None = getattr(args, "pid", None)
    container: str | None = getattr(args, "container", None)
    if container is not None:
        pid = pid_of_container(container)
        if pid is None:
            raise CommandError(
                f"no process of a container {plain(container)} is visible here", "name its id", MISSING
            )
    if pid is not None:
        require_process(pid)
    visit = look_at(Host(pid=pid, ldconfig=doctor_ladder.ldconfig))
    target = getattr(args, "bundle", None)
    if target:
        names = (os.uname().nodename, os.uname().nodename.partition(".")[0])
        try:
            bundle(
                Path(target),
                visit.texts,
                Redactor(names, {one.pw_name for one in pwd.getpwall() if one.pw_uid >= 1000}),
            )
        except OSError as error:
            raise CommandError(f"{target} can't be written: {error.strerror}") from error
    return visit


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
