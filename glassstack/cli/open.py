"""`glassstack open FILE`: a recording or a strace log in the TUI, paused at its start, steps both ways."""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from glassstack.cli.errors import FAILED, CommandError
from glassstack.cli.inputs import strace_log
from glassstack.collectors.strace_log import LogError, StraceLog
from glassstack.store.recording import SUFFIX, Player, RecordingError, Writer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE."""
    parser.add_argument(
        "file",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="recording made with -o FILE.gls, or a strace log (several files, or a folder, of -ff)",
    )


@contextmanager
def _as_recording(log: StraceLog) -> Iterator[Path]:
    """The log as a recording beside nobody's files, gone when it is left."""
    with tempfile.TemporaryDirectory(prefix="glassstack-") as folder:
        path = Path(folder) / f"log{SUFFIX}"
        with Writer(path, log.title) as writer:
            for batch in log.read():
                writer.write(batch)
        yield path


def _play(path: Path) -> int:
    player = Player(path)
    from glassstack.cli.screen import show

    try:
        return show(player=player)
    finally:
        player.close()


def _is_recording(path: Path) -> bool:
    return path.suffix == SUFFIX


def run(args: argparse.Namespace) -> int:
    """Opens the file before the terminal is touched, so that its errors are one line."""
    try:
        log = None if _is_recording(args.file[0]) else strace_log(args.file)
        if log is None:
            return _play(args.file[0])
        with _as_recording(log) as path:
            code = _play(path)
    except (RecordingError, LogError) as error:
        raise CommandError(str(error), code=FAILED) from error
    for line in log.said():
        print(f"glassstack: {line}", file=sys.stderr)
    return code
