"""What every collector has: a name, a probe, and a way to hand over events.

A collector reads the operating system and emits events. It never imports
textual, rich, the store or format.
"""

from collections.abc import Callable
from typing import Protocol

from glassstack.model.entities import Capability
from glassstack.model.events import Event

Sink = Callable[[list[Event]], None]
"""Takes a batch of events; may be called from any thread."""


class Collector(Protocol):
    """Something that can be asked what it could do here."""

    name: str

    def probe(self) -> Capability:
        """Ready, or why not and what would make it so. Cheap, no side effects."""
        ...


class Poller(Collector, Protocol):
    """A collector that looks again every ``period`` seconds."""

    period: float

    def sample(self) -> list[Event]:
        """Looks once. What can't be read becomes an event that says so, never an exception."""
        ...
