"""What the commands that launch a program share: the command itself, and the GPU it gets."""

import argparse
import os
import shutil
import sys
from typing import NamedTuple

from glassstack.cli.errors import MISSING, NOT_EXECUTABLE, NOT_FOUND, CommandError
from glassstack.gpu.choose import CHOICES, NoGpuError, choose


def add_launch_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds --gpu and COMMAND."""
    parser.add_argument("--gpu", choices=CHOICES, default="auto", help="which GPU the program gets")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="program to run")


def command_of(words: list[str]) -> tuple[str, ...]:
    """The command without the mark before it, empty when there is none.

    Raises:
        CommandError: it can't be started; 126 or 127 as launchers say.
    """
    command = words[1:] if words[:1] == ["--"] else words
    if not command:
        return ()
    name = command[0]
    if shutil.which(name):
        return tuple(command)
    if "/" not in name:
        raise CommandError(f"{name}: no such command in PATH", code=NOT_FOUND)
    if not os.path.exists(name):
        raise CommandError(f"{name}: no such file", code=NOT_FOUND)
    raise CommandError(f"{name}: not executable", f"chmod +x {name}", NOT_EXECUTABLE)


class Launch(NamedTuple):
    """How a program is started on its GPU: ``runner`` and ``each_call`` as in the tracer's Options."""

    runner: tuple[str, ...]
    each_call: bool


def launch_on(gpu: str) -> Launch:
    """What starts a program on ``gpu``.

    Raises:
        CommandError: that GPU is not to be had.
    """
    try:
        decision = choose(gpu)
    except NoGpuError as error:
        raise CommandError(error.cause, error.remedy, MISSING) from error
    if decision.kind == "none" and gpu == "auto":
        print(f"glassstack: no GPU: {decision.reason}", file=sys.stderr)
    # What the program leaves behind is watched too, so the device must last as long.
    runner = (str(decision.launcher), "--wait-all") if decision.launcher else ()
    return Launch(runner, each_call=decision.kind == "inherited")
