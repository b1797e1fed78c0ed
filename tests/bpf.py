"""What the tests of the BPF process share: skipping where it can't work, running it, counting what it gave.

Owns no fixtures. Imported as ``from tests import bpf``. Everything here runs real programs.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from glassstack.collectors.bpf.loading import BpfError, check
from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.spawn import Probe
from glassstack.model.events import Dropped, Event, Failed, Syscall, Tallies

STUCK = 60.0
WHAT = 0xC010FA3F
"""The ioctl that bpf_storm.c makes."""


def require() -> None:
    """Skips where BPF can't be used, with what keeps it from that."""
    try:
        check()
    except BpfError as error:
        pytest.skip(f"{error.cause}; {error.remedy}")


def gather(probe: Probe, until: Callable[[Event], bool] | None = None) -> list[Event]:
    """Everything up to the event that ends it, or to the end."""
    events: list[Event] = []
    deadline = time.monotonic() + STUCK
    while (batch := probe.read(1.0)) is not None:
        assert time.monotonic() < deadline, f"not over after {STUCK:g} s: {events[-3:]}"
        events += batch
        if until is not None and any(map(until, batch)):
            return events
    return events


def run(options: Options) -> list[Event]:
    """All events of a launched program; the BPF process must end well and lose nothing."""
    probe = Probe(options, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        events = gather(probe)
    finally:
        probe.stop()
        code = probe.close()
    assert not [event for event in events if isinstance(event, Failed)]
    assert code == 0
    assert not [event for event in events if isinstance(event, Dropped)]
    return events


def calls(events: Sequence[Event]) -> list[Syscall]:
    """The calls among events."""
    return [event for event in events if isinstance(event, Syscall)]


def tallies(events: Sequence[Event]) -> dict[str, int]:
    """How often each thing was counted, from the newest Tallies of each process."""
    newest = {event.pid: event for event in events if isinstance(event, Tallies)}
    found: dict[str, int] = {}
    for event in newest.values():
        for tally in event.tallies:
            found[tally.name] = found.get(tally.name, 0) + tally.calls
    return found


def launched(native: Path) -> tuple[str, ...]:
    """Words that start a program on an embedded device that lasts as long as its programs."""
    return (str(native / "fakegpu-run"), "--wait-all")
