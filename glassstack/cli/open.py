"""`glassstack open FILE`: a recording in the TUI, paused at its start, steps both ways."""

import argparse
from pathlib import Path

from glassstack.cli.errors import FAILED, CommandError
from glassstack.store.recording import Player, RecordingError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE."""
    parser.add_argument("file", metavar="FILE", type=Path, help="recording made with -o FILE.gls")


def run(args: argparse.Namespace) -> int:
    """Opens the file before the terminal is touched, so that its errors are one line."""
    try:
        player = Player(args.file)
    except RecordingError as error:
        raise CommandError(str(error), code=FAILED) from error
    from glassstack.cli.screen import show

    try:
        return show(player=player)
    finally:
        player.close()
