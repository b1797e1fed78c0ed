"""What the reading commands share: --once and --json, a PID argument, looking again every second.

Owns the loop and the way its rounds reach stdout: NDJSON, text blocks, or a
repainted terminal. Must not know what is read or how it looks: a command hands
over ``sample`` and ``draw``.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from glassstack.cli.errors import OK, CommandError
from glassstack.model.codec import encode_line
from glassstack.model.events import Event

Sample = Callable[[], list[Event]]
"""Looks once. Raises Gone when what was watched has ended, CommandError for anything else."""
Draw = Callable[[list[Event], int], list[str]]
"""Events and a width in columns (0 = as wide as it gets) → lines of plain text."""


class Gone(CommandError):  # noqa: N818 - it also ends a loop in good order
    """The watched process has ended: an error at the first look, the end of the loop later."""


def _seconds(text: str) -> float:
    value = float(text)
    if not 0.05 <= value <= 3600:
        raise argparse.ArgumentTypeError("must be 0.05 to 3600 seconds")
    return value


def pid_of(text: str) -> int:
    """A PID argument, for argparse."""
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"not a process id: {text!r}")
    return int(text)


def add_repeat_arguments(parser: argparse.ArgumentParser, pid: str = "") -> None:
    """Adds --once, --json, --interval; and PID when ``pid`` is "required" or "optional" (None if absent)."""
    if pid:
        nargs = None if pid == "required" else "?"
        parser.add_argument("pid", metavar="PID", type=pid_of, nargs=nargs, help="process to look at")
    parser.add_argument("--once", action="store_true", help="look once and exit")
    parser.add_argument("--json", action="store_true", help="NDJSON on stdout, one event a line")
    parser.add_argument(
        "--interval", type=_seconds, default=1.0, metavar="SECONDS", help="time between looks (default 1)"
    )


def require_process(pid: int, proc: Path = Path("/proc")) -> None:
    """Raises Gone when there is no such process."""
    if not (proc / str(pid)).exists():
        raise Gone(f"no process with pid {pid}", "`glassstack ps --all --once` lists those there are")


def repeat(args: argparse.Namespace, sample: Sample, draw: Draw) -> int:
    """Looks, shows, and looks again until interrupted, once with --once. Returns the exit code."""
    show = _json if args.json else _painter(draw, args.once)
    rounds = 0
    due = time.monotonic()
    while True:
        try:
            events = sample()
        except Gone as gone:
            if not rounds:
                raise
            print(f"glassstack: {gone.cause}", file=sys.stderr)
            return OK
        show(events)
        sys.stdout.flush()
        rounds += 1
        if args.once:
            return OK
        now = time.monotonic()
        due = max(due + args.interval, now)
        time.sleep(due - now)


def _json(events: list[Event]) -> None:
    for event in events:
        print(encode_line(event).decode())


def _painter(draw: Draw, once: bool) -> Callable[[list[Event]], None]:
    # An encoding that lacks a character must not end the command.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    if not sys.stdout.isatty():
        return lambda events: _block(draw(events, 0), once)
    if once or os.environ.get("TERM", "dumb") == "dumb":
        return lambda events: _block(draw(events, shutil.get_terminal_size().columns), once)
    return lambda events: _repaint(draw, events)


def _block(lines: list[str], once: bool) -> None:
    print("\n".join(lines if once else [*lines, ""]))


def _repaint(draw: Draw, events: list[Event]) -> None:
    """Writes the lines that fit over what the last look left."""
    size = shutil.get_terminal_size()
    lines = draw(events, size.columns)
    if len(lines) >= size.lines:
        more = len(lines) - size.lines + 2
        lines = [*lines[: size.lines - 2], f"({more} more lines: --once shows all)"]
    # Home, each line cleared to its end, the rest of the screen cleared: no flicker.
    print("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J", end="")
