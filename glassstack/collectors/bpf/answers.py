"""Calls that the embedded device answered, as eBPF and as the device saw them, made one. Pure.

eBPF sees only their return: a call that a seccomp listener answers never
reaches sys_enter. The device knows when it came and what it said before, so
each takes from it what it lacks. What only the device saw is not told twice.
"""

from collections import deque
from collections.abc import Iterable

import msgspec

from glassstack.model.events import Event, Process, Syscall

_KEPT = 65_536
"""Calls of one thread that wait for their other half."""


class Answers:
    """Remembers what the device told, thread by thread, until eBPF tells the same."""

    def __init__(self) -> None:
        self._threads: dict[int, deque[Syscall]] = {}

    def learn(self, witnessed: Iterable[Event]) -> list[Event]:
        """Keeps the calls; gives back the rest, which only the device tells."""
        rest: list[Event] = []
        for event in witnessed:
            if isinstance(event, Syscall):
                self._threads.setdefault(event.tid, deque(maxlen=_KEPT)).append(event)
            else:
                rest.append(event)
        return rest

    def timed(self, event: Event) -> Event:
        """A call as a whole, from its arrival at the device to its return, where it was answered there.

        What concerns no such call is given back as it is.
        """
        if not isinstance(event, Syscall):
            if isinstance(event, Process) and event.what == "exit":
                self._threads.pop(event.tid, None)
            return event
        if event.dur_ns is not None:
            return event
        found = self._answer(event)
        if found is None:
            return event
        took = event.ts - found.ts  # eBPF gave the return as its time
        return msgspec.structs.replace(event, ts=found.ts, dur_ns=took, fields=found.fields)

    def _answer(self, call: Syscall) -> Syscall | None:
        """The last one of its thread that had come by then; a thread makes one call after the other.

        Not the one that was over: the device looks at the clock after the thread was let go.
        """
        waiting = self._threads.get(call.tid)
        found = None
        while waiting and waiting[0].ts <= call.ts:
            first = waiting.popleft()
            if (first.syscall, first.raw, first.ret) == (call.syscall, call.raw, call.ret):
                found = first
        return found
