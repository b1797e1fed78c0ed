"""`glassstack` without a command: the TUI over two demo programs, on the kernel's stand-in GPU or our own."""

import argparse

from glassstack.cli.errors import MISSING, CommandError
from glassstack.cli.screen import check_terminal, watch
from glassstack.cli.trace_source import source_of
from glassstack.session import Session


def run(args: argparse.Namespace) -> int:
    """Starts the demonstration and shows it."""
    check_terminal()
    from glassstack.gpu.artifacts import Artifacts, MissingArtifactError
    from glassstack.gpu.choose import demo_node

    node = demo_node()
    if args.source == "ebpf" and not node:
        raise CommandError(
            "no fakegpu node of the kernel's to look at",
            "`glassstack lab` has one; here, the device tells itself",
            MISSING,
        )
    source = source_of(args.source) if node else ""
    title = f"demo on the kernel's {node}, by {source}" if node else "demo on the embedded GPU"
    try:
        Artifacts().bin("fakegpu-run")
    except MissingArtifactError as error:
        raise CommandError(error.cause, error.remedy, MISSING) from error

    def make() -> Session:
        from glassstack.session.compose import demo_session

        return demo_session(title, node=node, source=source)

    return watch(title, make)
