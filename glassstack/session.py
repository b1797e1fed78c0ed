"""Composition root: picks what watches, wires it together, and is the one place that cleans up."""

from typing import Protocol

from glassstack.model.events import Event


class Feed(Protocol):
    """Where a front end gets its events."""

    title: str
    """What is watched, one short line."""

    def read(self, timeout: float) -> list[Event] | None:
        """Next batch, waiting at most ``timeout`` seconds; ``[]`` nothing yet, ``None`` it is over."""
        ...

    def close(self) -> None:
        """Stops everything that was started; an attached program runs on. Idempotent."""
        ...
