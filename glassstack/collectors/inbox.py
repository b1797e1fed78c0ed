"""Where batches wait for the front end: bounded, and honest about what it had to drop."""

import threading
import time
from collections import deque
from collections.abc import Sequence

from glassstack.model.events import Dropped, Event, Syscall
from glassstack.model.values import Source


class Inbox:
    """A queue of batches between the threads that collect and the one that reads.

    When more than ``capacity`` events wait, calls are dropped, counted, and
    the count handed on as a Dropped event; every other event gets through.
    """

    def __init__(self, capacity: int = 200_000) -> None:
        self._capacity = capacity
        self._batches: deque[Sequence[Event]] = deque()
        self._waiting = 0
        self._lost = 0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, batch: Sequence[Event]) -> None:
        """Adds a batch; never waits."""
        if not batch:
            return
        with self._changed:
            if self._waiting + len(batch) > self._capacity:
                kept = [event for event in batch if not isinstance(event, Syscall)]
                self._lost += len(batch) - len(kept)
                batch = kept
            self._batches.append(batch)
            self._waiting += len(batch)
            self._changed.notify()

    def close(self) -> None:
        """No more batches will come; readers get what is left, then ``None``."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def get(self, timeout: float) -> list[Event] | None:
        """Everything that waits, after at most ``timeout`` seconds; ``None`` once closed and empty."""
        with self._changed:
            if not self._batches and not self._closed:
                self._changed.wait(timeout)
            if not self._batches and self._closed:
                return None
            events = [event for batch in self._batches for event in batch]
            if self._lost:
                events.append(
                    Dropped(time.monotonic_ns(), Source.SELF, "inbox: the screen is slower", self._lost)
                )
            self._batches.clear()
            self._waiting = self._lost = 0
            return events
