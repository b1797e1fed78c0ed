"""Composition root: what watches, wired together, and the one place that cleans up.

A session is a list of parts. Each part collects into the shared inbox; the
front end reads batches from there. Closing the session stops the parts in
reverse order, whatever happened to them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from glassstack.collectors.base import Sink
from glassstack.collectors.inbox import Inbox
from glassstack.model.events import Event, Failed, Process, Syscall
from glassstack.model.values import Source
from glassstack.store.recording import RecordingError, Writer


class OpeningError(Exception):
    """A feed could not begin. Its owner says why once the screen is gone."""


class Feed(Protocol):
    """Where a front end gets its events."""

    title: str
    """What is watched, one short line."""

    def read(self, timeout: float) -> list[Event] | None:
        """Next batch, waiting at most ``timeout`` seconds; ``[]`` nothing yet, ``None`` it is over.

        Raises:
            OpeningError: it could not begin.
        """
        ...

    def close(self) -> None:
        """Stops everything that was started; an attached program runs on. Idempotent."""
        ...


class Part(Protocol):
    """Something that collects while the session lasts."""

    def start(self) -> None:
        """Begins to collect; raises when it can't (the session then stops what had started)."""
        ...

    def stop(self) -> None:
        """Ends; never raises, never waits for ever."""
        ...


class Targets:
    """The processes that a session watches, learnt from its own events."""

    def __init__(self, pids: Sequence[int] = ()) -> None:
        self._pids = set(pids)

    def learn(self, batch: Sequence[Event]) -> None:
        """Takes in who started and who ended."""
        for event in batch:
            if isinstance(event, Process):
                if event.what not in ("exit", "detach"):
                    self._pids.add(event.pid)
                elif event.tid == event.pid:
                    self._pids.discard(event.pid)
            elif isinstance(event, Syscall) and event.source is Source.DEVICE:
                self._pids.add(event.pid)

    def __call__(self) -> list[int]:
        """The processes now."""
        return sorted(self._pids)


def _line(failure: Failed) -> str:
    return f"{failure.cause}; {failure.remedy}" if failure.remedy else failure.cause


class Session:
    """A live feed made of parts, optionally recorded.

    Attributes:
        sink: where parts put their batches.
        targets: the processes watched.
        record_error: why the recording ended early, "" otherwise.
        failures: what parts could not do, one line each.
    """

    def __init__(self, title: str, record: Path | None = None, pids: Sequence[int] = ()) -> None:
        self.title = title
        self.targets = Targets(pids)
        self.record_error = ""
        self.failures: list[str] = []
        self._inbox = Inbox()
        self._writer = Writer(record, title) if record else None
        self._parts: list[Part] = []
        self._closed = False

    def sink(self, batch: list[Event]) -> None:
        """Takes a batch from any thread."""
        self.targets.learn(batch)
        self.failures += [_line(event) for event in batch if isinstance(event, Failed)]
        self._inbox.put(batch)

    def add(self, make: Callable[[Sink], Part]) -> None:
        """Makes a part with this session's sink and starts it; on failure closes the session."""
        try:
            part = make(self.sink)
            self._parts.append(part)
            part.start()
        except BaseException:
            self.close()
            raise

    def over(self) -> None:
        """Nothing more will come: readers get the rest, then the end."""
        self._inbox.close()

    def read(self, timeout: float) -> list[Event] | None:
        """See Feed. Also writes the recording."""
        batch = self._inbox.get(timeout)
        if batch and self._writer:
            batch = self._record(self._writer, batch)
        return batch

    def _record(self, writer: Writer, batch: list[Event]) -> list[Event]:
        try:
            writer.write(batch)
        except RecordingError as error:
            self._writer = None
            self.record_error = str(error)
            batch.append(
                Failed(batch[-1].ts, Source.SELF, "recording", str(error), "what came before is kept")
            )
        return batch

    def last_words(self) -> list[str]:
        """What a person should know once the screen is gone, a line each."""
        words = dict.fromkeys([*self.failures, self.record_error])
        return [word for word in words if word]

    def close(self) -> None:
        """See Feed."""
        if self._closed:
            return
        self._closed = True
        for part in reversed(self._parts):
            part.stop()
        self._inbox.close()
        while self._writer and self.read(0) is not None:
            pass
        if self._writer:
            self._close_writer(self._writer)

    def _close_writer(self, writer: Writer) -> None:
        self._writer = None
        try:
            writer.close()
        except RecordingError as error:
            self.record_error = str(error)
