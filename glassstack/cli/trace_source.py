"""`--source` of the commands that trace: which of the two ways of seeing is used, and what it is told."""

import argparse
import sys

from glassstack.cli.errors import MISSING, CommandError

SOURCES = ("ptrace", "ebpf", "auto")


def add_source_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --source."""
    parser.add_argument(
        "--source", choices=SOURCES, default="ptrace", help="who looks: ptrace (default), ebpf (root), auto"
    )


def source_of(asked: str) -> str:
    """ "ptrace" or "ebpf".

    ``auto`` is eBPF where it can be had; what keeps it from that is said on stderr.

    Raises:
        CommandError: eBPF was asked for and can't be had.
    """
    if asked == "ptrace":
        return asked
    from glassstack.collectors.bpf.loading import BpfError, check, warning

    try:
        said = warning(check())
    except BpfError as error:
        if asked == "ebpf":
            raise CommandError(error.cause, error.remedy, MISSING) from error
        print(f"glassstack: no eBPF ({error}); tracing with ptrace", file=sys.stderr)
        return "ptrace"
    if said:
        print(f"glassstack: {said}", file=sys.stderr)
    return "ebpf"
