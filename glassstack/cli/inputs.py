"""What reading commands take as FILE: recordings, NDJSON of `trace --json`, strace logs, minirt's steps."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from glassstack.cli.errors import FAILED, CommandError
from glassstack.collectors.steps import read_steps
from glassstack.collectors.strace_log import LogError, StraceLog, files_of, head_of, looks_like_strace
from glassstack.model.events import Event
from glassstack.store.recording import RecordingError, events

Batches = Iterator[list[Event]]


def strace_log(paths: Sequence[Path], also: frozenset[str] = frozenset()) -> StraceLog | None:
    """The strace log that these are; ``None`` where they are no such log.

    Raises:
        CommandError: a file is not there.
    """
    try:
        files = files_of(paths)
        if str(files[0]) == "-" or any(looks_like_strace(head_of(path)) for path in files[:64]):
            return StraceLog(paths, also)
    except LogError as error:
        raise CommandError(str(error), code=FAILED) from error
    return None


def required_log(paths: Sequence[Path]) -> StraceLog:
    """The same; CommandError where it is none."""
    log = strace_log(paths)
    if log is None:
        names = ", ".join(map(str, paths))
        raise CommandError(
            f"{names}: no line of it is strace's", "`strace -f -ttt -T -y -o FILE …` makes one", FAILED
        )
    return log


def batches(path: Path, also: frozenset[str] = frozenset()) -> Batches:
    """The events of whatever ``path`` is; CommandError where it is nothing known.

    ``also`` names calls that are wanted of a strace log though they concern no device.
    """
    log = None if _is_json(path) else strace_log([path], also)
    try:
        steps = read_steps(path, path.stem) if log is None else []
        if steps:
            yield list(steps)
            return
        yield from log.read() if log is not None else events(path)
    except (LogError, RecordingError) as error:
        raise CommandError(str(error), code=FAILED) from error


def _is_json(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(1) == b"{"
    except OSError:
        return False
