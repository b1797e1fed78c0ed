"""A recording as a source of pictures: plays, pauses, steps and seeks on a thread of its own.

Owns the playback clock. The app sends wishes, and gets pictures with the
position they belong to. Never touches a widget.
"""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from glassstack.store.snapshot import Snapshot
from glassstack.tui.bridge import Ended, Fresh, Post, interval


class PlayerLike(Protocol):
    """What playback needs of a recording."""

    title: str
    damaged: str
    position: int

    @property
    def length(self) -> int: ...

    @property
    def ts(self) -> int: ...

    def seek(self, position: int) -> None: ...

    def step(self, count: int) -> None: ...

    def advance(self, until_ts: int) -> bool: ...

    def next_ts(self) -> int | None: ...

    def snapshot(self) -> Snapshot: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Position:
    """Where a recording is: after ``at`` of ``length`` events."""

    at: int
    length: int
    playing: bool
    damaged: str = ""


class Played(Fresh):
    """A picture of a recording with its position."""

    def __init__(self, snapshot: Snapshot, position: Position) -> None:
        super().__init__(snapshot)
        self.position = position


class Replay:
    """Plays a recording; every method only leaves a wish for the thread."""

    def __init__(self, player: PlayerLike, post: Post, every: float | None = None) -> None:
        self._player = player
        self._post = post
        self._every = interval() if every is None else every
        self._wishes: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="replay", daemon=True)
        self._playing = False
        self._began = 0.0
        self._from_ts = 0

    def start(self, playing: bool = True) -> None:
        """Shows the start and, if asked, plays."""
        self._thread.start()
        self._wishes.put(self._play if playing else self._pause)

    def stop(self) -> None:
        """Ends the thread and closes the recording. Idempotent."""
        self._wishes.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def toggle(self) -> None:
        """Pauses or plays; at the end, plays from the start."""
        self._wishes.put(self._toggle)

    def step(self, count: int) -> None:
        """Pauses and moves by ``count`` events."""
        self._wishes.put(lambda: self._move(lambda: self._player.step(count)))

    def seek(self, position: int) -> None:
        """Pauses and goes to ``position``; -1 is the end."""
        self._wishes.put(
            lambda: self._move(lambda: self._player.seek(self._player.length if position < 0 else position))
        )

    def _run(self) -> None:
        try:
            self._obey()
        except Exception as error:
            # Whatever breaks here must reach the screen: the thread has no other voice.
            self._post(Ended(f"{type(error).__name__}: {error}"))
        self._player.close()

    def _obey(self) -> None:
        while True:
            try:
                wish = self._wishes.get(timeout=self._every if self._playing else None)
            except queue.Empty:
                wish = self._advance
            if wish is None:
                return
            wish()
            self._show()

    def _play(self) -> None:
        self._playing = self._player.position < self._player.length
        self._began = time.monotonic()
        self._from_ts = self._player.ts or self._player.next_ts() or 0

    def _pause(self) -> None:
        self._playing = False

    def _toggle(self) -> None:
        if self._playing:
            self._pause()
            return
        if self._player.position >= self._player.length:
            self._player.seek(0)
        self._play()

    def _move(self, how: Callable[[], None]) -> None:
        self._pause()
        how()

    def _advance(self) -> None:
        elapsed = time.monotonic() - self._began
        self._playing = self._player.advance(self._from_ts + int(elapsed * 1e9))

    def _show(self) -> None:
        player = self._player
        position = Position(player.position, player.length, self._playing, player.damaged)
        self._post(Played(player.snapshot(), position))
