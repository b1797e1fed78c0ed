"""Calls that take long: told once when they are there, and once more when they are gone.

A call that the tracer stopped at is known from its entry. One that the
embedded device answers makes no stop, so those are found by looking at where a
thread sleeps; it must not have run between two looks.
"""

import time
from collections.abc import Iterable
from typing import NamedTuple

from glassstack.collectors.tracer.calls import fields_of
from glassstack.collectors.tracer.entry import Handler
from glassstack.collectors.tracer.tracees import Call, Thread
from glassstack.model.entities import InFlight
from glassstack.model.events import Calls
from glassstack.model.values import Source

LONG_NS = 100_000_000


class _Sleep(NamedTuple):
    """Where a thread sleeps, and since which look at least."""

    place: str
    turns: str
    since: int


class LongCalls:
    """Remembers what was told last, so that silence means no change.

    Args:
        ioctl: how the tracer enters an ioctl, to find those that make no stop; ``None`` = all make one.
        number: the syscall number of ioctl.
    """

    def __init__(self, ioctl: Handler | None = None, number: int = -1) -> None:
        self._ioctl = ioctl
        self._number = str(number)
        self._sleeps: dict[int, _Sleep] = {}
        self._told: frozenset[tuple[int, int]] = frozenset()
        self._looked = 0

    def look(self, threads: Iterable[Thread], at_once: bool = False) -> Calls | None:
        """An event when the set of calls older than 100 ms has changed.

        Looks at most ten times a second, unless ``at_once``.
        """
        now = time.monotonic_ns()
        if now - self._looked < LONG_NS and not at_once:
            return None
        self._looked = now
        long = [found for thread in threads if (found := self._long_call(thread, now)) is not None]
        keys = frozenset((thread.tid, since) for thread, _, since in long)
        if keys == self._told:
            return None
        self._told = keys
        return Calls(now, Source.PTRACE, tuple(_describe(*found) for found in long))

    def _long_call(self, thread: Thread, now: int) -> tuple[Thread, Call, int] | None:
        if thread.call is not None:
            return (thread, thread.call, thread.since) if now - thread.since > LONG_NS else None
        if self._ioctl is None:
            return None
        sleep = _sleep(thread.tid, now)
        before = self._sleeps.get(thread.tid)
        if sleep is None or not sleep.place.startswith(self._number + " "):
            self._sleeps.pop(thread.tid, None)
            return None
        if before is None or before[:2] != sleep[:2]:
            self._sleeps[thread.tid] = sleep
            return None
        call = self._ioctl(thread, tuple(int(word, 16) for word in sleep.place.split()[1:7]))
        return None if call is None else (thread, call, before.since)


def _sleep(tid: int, now: int) -> _Sleep | None:
    """Where ``tid`` sleeps; ``None`` while it runs, or when it can't be told."""
    try:
        with open(f"/proc/{tid}/syscall") as file:
            place = file.read()
        if place.startswith(("running", "-1")):
            return None
        with open(f"/proc/{tid}/status", errors="replace") as file:
            turns = "".join(line for line in file if "_ctxt_switches:" in line)
    except OSError:
        return None
    return _Sleep(place, turns, now)


def _describe(thread: Thread, call: Call, since: int) -> InFlight:
    syscall, device, _, args, before, _, payload, _ = call
    name, fields = fields_of(syscall, device, args, before, payload, b"", -1)
    return InFlight(thread.process.pid, thread.tid, since, syscall, device, name, fields)
