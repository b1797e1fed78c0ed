"""Recordings: a header line and one JSON event per line, so that text tools read them too.

Writer appends batches; Player walks a recording both ways by re-reducing it
from checkpoints, so that a position shows exactly what live showed there.
"""

import json
import os
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import msgspec

from glassstack.model.codec import decode_line, encode_line
from glassstack.model.events import SCHEMA_VERSION, Event
from glassstack.store.snapshot import Snapshot
from glassstack.store.store import Store

SUFFIX = ".gls"
MAGIC = "glassstack recording"
CHECKPOINT_EVERY = 20_000
CHECKPOINTS = 16


class RecordingError(Exception):
    """A recording can't be written or read; the text is one line: cause and what to do."""


class Writer:
    """Writes a recording; use as a context manager.

    Raises:
        RecordingError: the file can't be made or written (no space, no permission).
    """

    def __init__(self, path: Path, title: str) -> None:
        self.path = path
        header = {"magic": MAGIC, "schema": SCHEMA_VERSION, "title": title}
        try:
            self._file: BinaryIO = path.open("wb")
            self._put(json.dumps(header).encode() + b"\n")
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: OSError) -> RecordingError:
        return RecordingError(f"can't write {self.path}: {error.strerror}; choose another file with -o")

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()

    def write(self, batch: Iterable[Event]) -> None:
        """Appends events; they are in the file when this returns."""
        try:
            self._put(b"".join(encode_line(event) + b"\n" for event in batch))
        except OSError as error:
            raise self._error(error) from error

    def close(self) -> None:
        """Closes the file; whatever could not be written has been reported already."""
        try:
            self._file.close()
        except OSError as error:
            raise self._error(error) from error

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _open(path: Path) -> tuple[BinaryIO, str]:
    """The file behind its header, and its title."""
    try:
        file = path.open("rb")
        first = file.readline(4096)
    except OSError as error:
        raise RecordingError(f"can't read {path}: {error.strerror}") from error
    try:
        header = json.loads(first)
        if header["magic"] != MAGIC:
            raise KeyError("magic")
        schema, title = int(header["schema"]), str(header["title"])
    except (ValueError, KeyError, TypeError) as error:
        file.close()
        raise RecordingError(
            f"{path} is not a recording; make one with `glassstack trace -o FILE{SUFFIX}`"
        ) from error
    if schema > SCHEMA_VERSION:
        file.close()
        raise RecordingError(
            f"{path} has schema {schema}, this glassstack reads up to {SCHEMA_VERSION}; update it"
        )
    return file, title


def events(path: Path, batch: int = 5000) -> Iterator[list[Event]]:
    """The events of a recording, or of NDJSON that `trace --json` wrote; what is no event is left out.

    Raises:
        RecordingError: no such file, or nothing in it is an event.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise RecordingError(f"can't read {path}: {error.strerror}") from error
    found, some = 0, []
    with file:
        for line in file:
            try:
                some.append(decode_line(line))
            except msgspec.DecodeError:
                continue
            if len(some) >= batch:
                found += len(some)
                yield some
                some = []
    if not some and not found:
        raise RecordingError(f"{path} holds no event; `glassstack trace -o FILE{SUFFIX}` makes a recording")
    yield some


class Player:
    """A recording as a sequence of positions 0…length: position n = after n events.

    Attributes:
        title: what was recorded.
        damaged: "" or what is wrong with the file (cut short, unreadable lines), which stay out.

    Raises:
        RecordingError: not a file, not a recording, or from a newer version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file, self.title = _open(path)
        self._offsets = array("Q")
        self.damaged = self._index()
        self.position = 0
        self._store = Store()
        self._checkpoints: dict[int, Store] = {}

    def _index(self) -> str:
        offset = self._file.tell()
        size = os.fstat(self._file.fileno()).st_size
        for line in self._file:
            if not line.endswith(b"\n"):
                return f"cut short: the last {size - offset} bytes are no whole event"
            self._offsets.append(offset)
            offset += len(line)
        return ""

    @property
    def length(self) -> int:
        """Number of events."""
        return len(self._offsets)

    @property
    def ts(self) -> int:
        """CLOCK_MONOTONIC ns of the newest event up to here, 0 at the start."""
        return self._store.snapshot().ts

    def snapshot(self) -> Snapshot:
        """The picture at this position."""
        return self._store.snapshot()

    def step(self, count: int) -> None:
        """Moves by ``count`` events, either way, stopping at the ends."""
        self.seek(self.position + count)

    def seek(self, position: int) -> None:
        """Goes to ``position``, clamped to 0…length."""
        position = max(0, min(position, self.length))
        if position < self.position:
            self._rewind(position)
        while self.position < position:
            stop = min(position, self.position + CHECKPOINT_EVERY - self.position % CHECKPOINT_EVERY)
            self._store.apply(self._read(self.position, stop))
            self.position = stop
            if stop % CHECKPOINT_EVERY == 0:
                self._keep(stop)

    def advance(self, until_ts: int, at_most: int = 50_000) -> bool:
        """Plays forward to the last event not after ``until_ts``; false at the end."""
        batch: list[Event] = []
        for event in self._read(self.position, min(self.length, self.position + at_most)):
            if event.ts > until_ts:
                break
            batch.append(event)
        self.seek(self.position + len(batch))
        return self.position < self.length

    def next_ts(self) -> int | None:
        """Time of the next event, or ``None`` at the end."""
        for event in self._read(self.position, min(self.length, self.position + 1)):
            return event.ts
        return None

    def _rewind(self, position: int) -> None:
        kept = max((n for n in self._checkpoints if n <= position), default=0)
        self._store = self._checkpoints[kept].copy() if kept else Store()
        self.position = kept

    def _keep(self, position: int) -> None:
        if position in self._checkpoints or len(self._checkpoints) >= CHECKPOINTS:
            return
        self._checkpoints[position] = self._store.copy()

    def _read(self, begin: int, end: int) -> Iterable[Event]:
        if begin >= end:
            return
        self._file.seek(self._offsets[begin])
        for _ in range(begin, end):
            line = self._file.readline()
            try:
                yield decode_line(line)
            except msgspec.DecodeError:
                self.damaged = "some lines are no events; they are left out"

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
