"""strace logs on disk: one file, the many of -ff, a folder of them, or stdin, as batches of events.

Owns finding and reading the files, in blocks, so that a log of any size takes
the same memory. What the lines mean is the decoder's.
"""

import gzip
import heapq
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from glassstack.decoders.strace import Parser, grammar
from glassstack.decoders.strace.notes import ALWAYS, Notes
from glassstack.model.events import Capabilities, Dropped, Event
from glassstack.model.values import Source

BLOCK = 1 << 20
LINE_MOST = 1 << 20
"""Longer lines are no lines."""
_BATCH = 5000
_PID = re.compile(r"\.(\d+)$")
_NAMES = re.compile(r"(?:^|[\s\]])(?:open(?:at)?|ioctl|execve|mmap|close|read|write|brk|access|futex)\(")


class LogError(Exception):
    """A log can't be read; the text is one line: cause and what to do."""


def looks_like_strace(head: str) -> bool:
    """Whether some of the first lines are strace's: it has no header of its own."""
    for line in head.splitlines()[:2000]:
        found = grammar.LINE.match(line)
        if found and found[grammar.NAME] and _NAMES.search(line):
            return True
    return False


def head_of(path: Path) -> str:
    """The first 64 KiB of a file as text, unpacked where it is gzip; LogError when it can't be read."""
    try:
        with _open(path) as file:
            return file.read(65_536)
    except (OSError, EOFError) as error:
        raise LogError(f"can't read {path}: {getattr(error, 'strerror', None) or error}") from error


def _open(path: Path) -> IO[str]:
    if str(path) == "-":
        return open(sys.stdin.fileno(), encoding="utf-8", errors="replace", newline="\n", closefd=False)
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if packed:
        return gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="\n")
    return path.open(encoding="utf-8", errors="replace", newline="\n")


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The files that are meant: a folder's, or those that -ff made of a name ("out" → out.12, out.13).

    Raises:
        LogError: there are none.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            some = sorted(child for child in path.iterdir() if child.is_file())
        elif str(path) == "-" or path.exists():
            some = [path]
        else:
            some = sorted(child for child in path.parent.glob(f"{path.name}.*") if _PID.search(child.name))
        if not some:
            raise LogError(f"can't read {path}: no such file, and no {path.name}.PID of strace -ff")
        found += some
    return found


def _lines(file: IO[str]) -> Iterator[list[str]]:
    """Whole lines in lists; a line without an end is cut."""
    rest = ""
    while block := file.read(BLOCK):
        if "\r" in block:
            block = block.replace("\r", "")
        lines = (rest + block).split("\n")
        rest = lines.pop()
        if len(rest) > LINE_MOST:
            lines.append(rest[:100])
            rest = ""
        yield lines
    if rest:
        yield [rest]


class StraceLog:
    """A log as batches of events.

    Args:
        paths: a file, the files or the folder of ``strace -ff``; "-" is stdin.
        also: as the parser's.

    Raises:
        LogError: a file is not there, or can't be read while it is.
    """

    def __init__(self, paths: Sequence[Path], also: frozenset[str] = frozenset()) -> None:
        self.files = files_of(paths)
        self.title = ", ".join(str(path) for path in paths)
        self._parser = Parser(also=also)
        self.aside = ""
        """What is to be known about the order of several files."""

    @property
    def notes(self) -> Notes:
        """What was seen so far."""
        return self._parser.notes

    def said(self) -> list[str]:
        """What a person should know of this log, one line each."""
        return [*self.notes.said(), *([self.aside] if self.aside else [])]

    def read(self) -> Iterator[list[Event]]:
        """Batches, from first to last."""
        now: int | None = None
        for batch in self._batches():
            if batch and now is None:
                # At the time of the first event: a run begins there, not at the epoch.
                yield [Capabilities(batch[0].ts, Source.FILE, ALWAYS)]
            for at in range(0, len(batch), _BATCH):
                yield batch[at : at + _BATCH]
            now = batch[-1].ts if batch else now
        last = self._parser.finish()
        if self.notes.strange:
            strange = self.notes.strange
            last.append(Dropped(now or 0, Source.FILE, "lines that are none of strace's", strange))
        if last:
            yield last

    def _batches(self) -> Iterator[list[Event]]:
        try:
            if len(self.files) > 1 and all(map(_has_absolute_times, self.files)):
                yield from self._merged()
                return
            if len(self.files) > 1:
                self.aside = "several files without absolute times: one after the other; strace -ttt has them"
            for path in sorted(self.files, key=_pid_of):
                with _open(path) as file:
                    for lines in _lines(file):
                        yield self._parser.feed(lines, _pid_of(path))
        except (OSError, EOFError) as error:
            raise LogError(f"can't read {self.title}: {getattr(error, 'strerror', None) or error}") from error

    def _merged(self) -> Iterator[list[Event]]:
        """Several files as one, by the time of each line."""
        feeds = [_timed(path, number) for number, path in enumerate(self.files)]
        batch: list[str] = []
        pids = [_pid_of(path) for path in self.files]
        for _, number, line in heapq.merge(*feeds):
            batch.append(f"{pids[number]} {line}" if pids[number] else line)
            if len(batch) >= _BATCH:
                yield self._parser.feed(batch)
                batch = []
        yield self._parser.feed(batch)


def _pid_of(path: Path) -> int:
    found = _PID.search(path.name)
    return int(found[1]) if found else 0


def _has_absolute_times(path: Path) -> bool:
    clock = grammar.Clock()
    for line in head_of(path).splitlines()[:10]:
        found = grammar.LINE.match(line)
        if found:
            clock.at(found[grammar.TIME], found[grammar.SINCE])
            return clock.absolute
    return False


def _timed(path: Path, number: int) -> Iterator[tuple[int, int, str]]:
    clock = grammar.Clock()
    now = 0
    with _open(path) as file:
        for lines in _lines(file):
            for line in lines:
                found = grammar.LINE.match(line)
                if found:
                    now = clock.at(found[grammar.TIME], found[grammar.SINCE])
                    yield now, number, line
