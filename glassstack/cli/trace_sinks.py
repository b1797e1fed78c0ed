"""Where `trace` puts what it sees: text lines, NDJSON, a table, a recording. One class each."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from glassstack.cli.errors import USAGE, CommandError
from glassstack.cli.trace_counts import Counts
from glassstack.cli.trace_format import line
from glassstack.decoders.explain import explain
from glassstack.format.text import plain
from glassstack.model.events import SCHEMA_VERSION, Dropped, Event, Launches, Syscall, Tallies
from glassstack.model.values import Scalar
from glassstack.store.recording import RecordingError, Writer

_KINDS = 10_000


class Sink(Protocol):
    """Takes batches until the trace is over.

    ``write`` and ``close`` raise OSError (BrokenPipeError: the reader is gone)
    or RecordingError.
    """

    def write(self, batch: Iterable[Event]) -> None:
        """Takes a batch."""
        ...

    def close(self) -> None:
        """No more will come."""
        ...


class Explainer:
    """Says in plain words what a call does, before the first call of each kind."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str, Scalar, str | None]] = set()
        self._told: set[str] = set()

    def _words(self, call: Syscall) -> list[str]:
        text = explain(call).text
        if text in self._told:
            return []
        self._told.add(text)
        return [f"# {plain(text)}"]

    def among(self, batch: Iterable[Event], prefix: bool, color: bool) -> list[str]:
        """The lines of a batch with those that explain."""
        lines = []
        for event in batch:
            text = line(event, prefix, color)
            if text is None:
                continue
            if isinstance(event, Syscall):
                key = (event.name, event.device, event.fields.get("class"), event.errno)
                if key not in self._seen and len(self._seen) < _KINDS:
                    self._seen.add(key)
                    lines += self._words(event)
            lines.append(text)
        return lines


class TextSink:
    """Lines in the manner of strace."""

    def __init__(self, stream: BinaryIO, prefix: bool, no_color: bool, explain: bool = False) -> None:
        self._stream = stream
        self._prefix = prefix
        self._explain = Explainer() if explain else None
        self._color = (
            not no_color
            and stream.isatty()
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM", "dumb") != "dumb"
        )

    def write(self, batch: Iterable[Event]) -> None:
        """Writes the batch's lines at once."""
        if self._explain is not None:
            lines = self._explain.among(batch, self._prefix, self._color)
        else:
            told = (line(event, self._prefix, self._color) for event in batch)
            lines = [text for text in told if text is not None]
        if lines:
            self._stream.write("".join(f"{text}\n" for text in lines).encode("utf-8", "replace"))
            self._stream.flush()

    def close(self) -> None:
        """Everything has been written."""
        _close(self._stream)


class JsonSink:
    """NDJSON: one object a call and a gap (kind "dropped"); with --launches for launches and counts too."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._encode = msgspec.json.Encoder().encode
        self._start = b'{"schema":%d,' % SCHEMA_VERSION

    def write(self, batch: Iterable[Event]) -> None:
        """Writes the batch's objects at once."""
        lines = [
            self._start + self._encode(event)[1:] + b"\n"
            for event in batch
            if isinstance(event, Syscall | Dropped | Launches | Tallies)
        ]
        if lines:
            self._stream.write(b"".join(lines))
            self._stream.flush()

    def close(self) -> None:
        """Everything has been written."""
        _close(self._stream)


class CountSink:
    """The summary table, written at the end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._counts = Counts()

    def write(self, batch: Iterable[Event]) -> None:
        """Counts the batch's calls."""
        for event in batch:
            if isinstance(event, Syscall):
                self._counts.add(event)

    def close(self) -> None:
        """Writes the table."""
        self._stream.write("".join(f"{text}\n" for text in self._counts.lines()).encode())
        self._stream.flush()
        _close(self._stream)


def _close(stream: BinaryIO) -> None:
    if stream not in (sys.stdout.buffer, sys.stderr.buffer):
        stream.close()


def open_text(path: Path) -> BinaryIO:
    """``path`` for writing; CommandError when that can't be."""
    try:
        return path.open("wb")
    except OSError as error:
        raise CommandError(
            f"can't write {path}: {error.strerror}", "choose another file with -o", USAGE
        ) from error


def open_recording(path: Path, title: str) -> Writer:
    """A recording at ``path``; CommandError when that can't be."""
    try:
        return Writer(path, title)
    except RecordingError as error:
        raise CommandError(str(error), code=USAGE) from error
