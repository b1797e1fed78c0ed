"""The only thread crossing: a thread applies events and hands the newest snapshot to the app.

Owns pace: at most RATE pictures a second, batches instead of events, and a
share of one core it never exceeds, so that a flood costs events (which their
collectors count) and never the keyboard. Never touches a widget.
"""

import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from textual.message import Message

from glassstack.model.events import Event
from glassstack.session import Feed, OpeningError
from glassstack.store.snapshot import Snapshot

RATE = 10.0
RATE_SSH = 5.0
SHARE = 0.3
"""Of one core, at most, over any longer while."""
_CHUNK = 2_000  # events applied while the lock is held: a few milliseconds
_BURST = 0.03  # seconds of work before the thread pauses, and the least pause


class Applier(Protocol):
    """What the bridge needs of a store."""

    def apply(self, batch: Iterable[Event]) -> None: ...

    def snapshot(self) -> Snapshot: ...


class Fresh(Message):
    """A newer picture; replaces an older one that still waits."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Fresh)


class Ended(Message):
    """There will be no more events. ``why`` is "" or what went wrong; ``begun``: there were some."""

    def __init__(self, why: str = "", begun: bool = True) -> None:
        super().__init__()
        self.why = why
        self.begun = begun


Post = Callable[[Message], Any]


def interval(over_ssh: bool | None = None) -> float:
    """Seconds between pictures."""
    if over_ssh is None:
        over_ssh = bool(os.environ.get("SSH_CONNECTION"))
    return 1 / (RATE_SSH if over_ssh else RATE)


def with_own_log(snapshot: Snapshot) -> Snapshot:
    """The same picture with a copy of its calls, which the store can't overwrite any more."""
    return dataclasses.replace(snapshot, calls=snapshot.calls.copy())


class Bridge:
    """Reads a feed on its own thread until it ends or ``stop`` is called."""

    def __init__(self, feed: Feed, store: Applier, post: Post, every: float | None = None) -> None:
        self._feed = feed
        self._store = store
        self._post = post
        self._every = interval() if every is None else every
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bridge", daemon=True)
        self._owed = False  # events were applied that no picture shows yet
        self._next = 0.0

    def start(self) -> None:
        """Begins reading."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; the feed stays open. Idempotent."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2)

    def frozen(self) -> Snapshot:
        """The picture of now, kept from being overwritten."""
        with self._lock:
            return with_own_log(self._store.snapshot())

    def _run(self) -> None:
        why = ""
        try:
            while not self._stop.is_set() and self._turn():
                pass
        except OpeningError:
            self._post(Ended(begun=False))
            return
        except Exception as error:
            # Whatever breaks here must reach the screen: the thread has no other voice.
            why = f"{type(error).__name__}: {error}"
        self._show()
        if not self._stop.is_set():
            self._post(Ended(why))

    def _turn(self) -> bool:
        """Reads for a while, shows a picture when it is due; false when the feed is over."""
        batch = self._feed.read(self._patience())
        began = time.monotonic()
        worked = bool(batch)
        while batch:
            self._apply(batch)
            if time.monotonic() - began > _BURST or self._stop.is_set():
                break
            batch = self._feed.read(0)
        if time.monotonic() >= self._next:
            self._show()
        if batch is None:
            return False
        if worked:
            # Time, not CPU time: on a crowded machine this thread must leave the keyboard more room.
            busy = time.monotonic() - began
            self._stop.wait(max(_BURST, busy * (1 / SHARE - 1)))
        return True

    def _patience(self) -> float:
        """How long to wait for events: until the next picture when one is owed."""
        return max(0.0, self._next - time.monotonic()) if self._owed else 0.5

    def _apply(self, batch: list[Event]) -> None:
        for start in range(0, len(batch), _CHUNK):
            if self._stop.is_set():
                return
            with self._lock:
                self._store.apply(batch[start : start + _CHUNK])
            self._owed = True

    def _show(self) -> None:
        if not self._owed:
            return
        with self._lock:
            snapshot = self._store.snapshot()
        self._owed = False
        self._next = time.monotonic() + self._every
        self._post(Fresh(snapshot))
