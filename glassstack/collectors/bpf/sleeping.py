"""Device calls in flight that never passed sys_enter: found by looking at where threads sleep.

A call that the embedded device answers goes to its seccomp listener first, so
no tracepoint tells that it began. /proc tells where a thread is; it must not
have run between two looks, and the call is taken to have begun by the first.
"""

import os
import time
from collections.abc import Container, Iterable
from typing import NamedTuple

from glassstack.collectors.memory import Memory, UnreadableError
from glassstack.collectors.tracer.calls import fields_of
from glassstack.collectors.tracer.nodes import node_of
from glassstack.decoders import ioc
from glassstack.decoders.fakegpu_uapi import IOC_TYPE
from glassstack.decoders.syscalls import NUMBERS
from glassstack.model.entities import InFlight

_IOCTL = f"{NUMBERS['x86_64']['ioctl']} "
_LONG_NS = 100_000_000


class _Sleep(NamedTuple):
    place: str
    turns: str
    since: int


class Sleeping:
    """Remembers the last look."""

    def __init__(self) -> None:
        self._sleeps: dict[int, _Sleep] = {}

    def look(self, pids: Iterable[int], known: Container[int]) -> tuple[InFlight, ...]:
        """Calls that have been going on for 100 ms, of threads that are not ``known`` to be in one."""
        now = time.monotonic_ns()
        before, self._sleeps = self._sleeps, {}
        found = []
        for pid in pids:
            for tid in _threads(pid):
                sleep = _sleep(pid, tid, now)
                if sleep is None or tid in known:
                    continue
                last = before.get(tid)
                same = last is not None and last[:2] == sleep[:2]
                self._sleeps[tid] = last if last is not None and same else sleep
                if last is not None and same and now - last.since > _LONG_NS:
                    call = _call(pid, tid, last)
                    found += [call] if call else []
        return tuple(found)


def _threads(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _sleep(pid: int, tid: int, now: int) -> _Sleep | None:
    """Where a thread sleeps; ``None`` unless it is in an ioctl of the embedded device's type."""
    folder = f"/proc/{pid}/task/{tid}"
    try:
        with open(f"{folder}/syscall") as file:
            place = file.read()
        if not place.startswith(_IOCTL) or int(place.split()[2], 16) >> 8 & 0xFF != IOC_TYPE:
            return None
        with open(f"{folder}/status", errors="replace") as file:
            turns = "".join(line for line in file if "_ctxt_switches:" in line)
    except OSError:
        return None
    return _Sleep(place, turns, now)


def _call(pid: int, tid: int, sleep: _Sleep) -> InFlight | None:
    args = tuple(int(word, 16) for word in sleep.place.split()[1:7])
    fd, request = args[0] & 0xFFFFFFFF, args[1] & 0xFFFFFFFF
    try:
        device = node_of(os.readlink(f"/proc/{pid}/fd/{fd}"), False)
    except OSError:
        device = ""
    if not device:
        return None
    direction, _, _, size = ioc.split(request)
    try:
        before = Memory(pid).read(args[2], size) if direction & ioc.WRITE else b""
    except UnreadableError:
        before = b""
    name, fields = fields_of("ioctl", device, args, before, b"", b"", -1)
    return InFlight(pid, tid, sleep.since, "ioctl", device, name, fields)
