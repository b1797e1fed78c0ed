"""Where the tracer's findings wait: brought into one order with what the device witnessed, then sent.

Events leave in the order in which the calls returned, which is exact for each
thread whoever saw the call.
"""

import time
from typing import Protocol

from glassstack.collectors.tracer.calls import Finished, event_of
from glassstack.collectors.wire import WireWriter
from glassstack.model.events import Event, Syscall

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


def end_of(event: Event) -> int:
    """When the event was over: CLOCK_MONOTONIC ns."""
    return event.ts + event.dur_ns if isinstance(event, Syscall) else event.ts


class Outbox:
    """Collects findings for the wire; ``witness`` is the second source, if there is one."""

    def __init__(self, wire: WireWriter, witness: Witness | None) -> None:
        self.wire = wire
        self._witness = witness
        self.found: list[Finished | Event] = []
        """Newest last; the tracer's loop appends here directly."""
        self._held: list[Event] = []

    def add(self, event: Event) -> None:
        """Adds an event that is not a finished call."""
        self.found.append(event)

    def flush(self, everything: bool = False) -> None:
        """Sends what is ripe, or all there is."""
        # First the clock, then the witness: whatever returned before is in there.
        now = time.monotonic_ns()
        found = [event_of(item) if isinstance(item, tuple) else item for item in self.found]
        self.found.clear()
        if self._witness is None:
            self.wire.write(found)
            return
        waiting = self._held + found
        while witnessed := self._witness.read():
            waiting += witnessed
            if not everything:
                break  # there may be more than fits one message; it comes with the next tick
        waiting.sort(key=end_of)
        if everything:
            ripe = len(waiting)
        else:
            ripe = next((n for n, event in enumerate(waiting) if end_of(event) > now - HOLD_NS), len(waiting))
        self._held = waiting[ripe:]
        self.wire.write(waiting[:ripe])
