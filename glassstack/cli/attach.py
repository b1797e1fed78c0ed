"""`glassstack attach PID`: a running process in the TUI; it runs on afterwards as before."""

import argparse
from pathlib import Path

from glassstack.cli.repeat import pid_of, require_process
from glassstack.cli.screen import check_terminal, watch
from glassstack.cli.trace_source import add_source_argument, source_of
from glassstack.session import Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds PID and -o."""
    parser.add_argument("pid", metavar="PID", type=pid_of, help="process to watch")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="record the session")
    add_source_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Shows the process until the TUI is left."""
    require_process(args.pid)
    check_terminal()
    source = source_of(args.source)

    def make() -> Session:
        from glassstack.session.compose import attach_session

        return attach_session(args.pid, args.output, source)

    return watch(f"pid {args.pid}", make)
