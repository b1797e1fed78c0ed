"""`glassstack run -- COMMAND`: a program and its GPU stack in the TUI."""

import argparse
from pathlib import Path

from glassstack.cli.errors import USAGE, CommandError
from glassstack.cli.launching import add_launch_arguments, command_of, launch_on
from glassstack.cli.screen import check_terminal, watch
from glassstack.cli.trace_source import add_source_argument, source_of
from glassstack.session import Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds run's options."""
    parser.usage = "glassstack run [--gpu GPU] [--source SOURCE] [-o FILE] [--] COMMAND…"
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="record the session")
    add_source_argument(parser)
    add_launch_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Shows the program until the TUI is left; a program that still runs is then ended."""
    command = command_of(args.command)
    if not command:
        raise CommandError("nothing to run", "name a COMMAND", USAGE)
    check_terminal()
    launch, source = launch_on(args.gpu), source_of(args.source)

    def make() -> Session:
        from glassstack.session.compose import run_session

        return run_session(command, launch.runner, launch.each_call, args.output, source)

    return watch(" ".join(command), make)
