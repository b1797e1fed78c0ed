"""Where the tracer's findings wait: brought into one order with what the device witnessed, then sent.

The device writes a call down some time after it has answered, so findings are
held a little and go out by the time at which each call began. For one thread
that order is exact, whoever saw its calls.
"""

import time
from typing import Protocol

from glassstack.collectors.tracer.calls import Item
from glassstack.collectors.wire import WireWriter
from glassstack.model.events import Event

HOLD_NS = 50_000_000
"""How long a finding waits for an earlier one of the device that is still being written."""
BATCH = 2000


class Witness(Protocol):
    """The embedded device's own account of the calls it answered."""

    fd: int
    """The memory it writes to."""

    def read(self) -> list[Event]:
        """What has come since the last look."""
        ...


def _since(item: Item) -> int:
    return item[9] if isinstance(item, tuple) else item.ts


class Outbox:
    """Collects findings for the wire; ``witness`` is the second source, if there is one."""

    def __init__(self, wire: WireWriter[Item], witness: Witness | None) -> None:
        self.wire = wire
        self._witness = witness
        self.found: list[Item] = []
        """Newest last; the tracer's loop appends here directly."""
        self._held: list[Item] = []

    def add(self, event: Event) -> None:
        """Adds an event that is not a finished call."""
        self.found.append(event)

    def flush(self, everything: bool = False) -> None:
        """Sends what is ripe, or all there is."""
        # First the clock, then the witness: whatever returned before is in there.
        now = time.monotonic_ns()
        if self._witness is None:
            self.wire.write(self.found)
            self.found.clear()
            return
        waiting = self._held + self.found
        self.found.clear()
        while witnessed := self._witness.read():
            waiting += witnessed
            if not everything:
                break  # there may be more than fits one message; it comes with the next tick
        waiting.sort(key=_since)
        if everything:
            ripe = len(waiting)
        else:
            ripe = next((n for n, item in enumerate(waiting) if _since(item) > now - HOLD_NS), len(waiting))
        self._held = waiting[ripe:]
        self.wire.write(waiting[:ripe])
