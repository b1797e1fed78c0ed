"""Calls that take long: told once when they are there, and once more when they are gone."""

import time
from collections.abc import Iterable

from glassstack.collectors.tracer.calls import fields_of
from glassstack.collectors.tracer.tracees import Thread
from glassstack.model.entities import InFlight
from glassstack.model.events import Calls
from glassstack.model.values import Source

LONG_NS = 100_000_000


class LongCalls:
    """Remembers what was told last, so that silence means no change."""

    def __init__(self) -> None:
        self._told: frozenset[tuple[int, int]] = frozenset()

    def look(self, threads: Iterable[Thread]) -> Calls | None:
        """An event when the set of calls older than 100 ms has changed."""
        now = time.monotonic_ns()
        long = [thread for thread in threads if thread.call is not None and now - thread.since > LONG_NS]
        keys = frozenset((thread.tid, thread.since) for thread in long)
        if keys == self._told:
            return None
        self._told = keys
        return Calls(now, Source.PTRACE, tuple(filter(None, map(_describe, long))))


def _describe(thread: Thread) -> InFlight | None:
    call = thread.call
    if call is None:
        return None
    syscall, device, _, args, before, _, payload, _ = call
    name, fields = fields_of(syscall, device, args, before, payload, b"", -1)
    return InFlight(thread.process.pid, thread.tid, thread.since, syscall, device, name, fields)
