"""What the session of a drill tells: the node's programs and calls, and not what was broken on purpose."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from glassstack.collectors.witness import NAME, Witness
from glassstack.drills.engine import Drill
from glassstack.model.events import Devices, Event, Process, Syscall
from glassstack.model.values import Source
from glassstack.session import Session
from glassstack.session.drill import drill_session
from tests.system.test_drills import DRILLS, place_here

SEED_OF_A_FAULT = 5  # its cause arms one in the device


def told(session: Session, seconds: float = 15) -> list[Event]:
    """Events until the job's calls and the device were seen."""
    deadline = time.monotonic() + seconds
    events: list[Event] = []
    while time.monotonic() < deadline:
        events += session.read(0.1) or []
        if any(isinstance(one, Devices) for one in events) and any(map(_fails, events)):
            return events
    pytest.fail("nothing told in time")


def _fails(event: Event) -> bool:
    return isinstance(event, Syscall) and event.name == "WAIT" and event.errno == "ETIME"


def test_programs_and_calls_are_told_and_the_cause_is_not(tmp_path: Path) -> None:
    scenario = next(one for one in DRILLS if one.id == "quiet-strace")
    drill = Drill(scenario, tmp_path / "run")
    drill.start(SEED_OF_A_FAULT, place_here(scenario))
    try:
        assert drill.world.control.faults()
        for _ in range(2):  # whoever comes back is told everything again
            session = drill_session(drill.world.control.name, "a drill")
            try:
                events = told(session)
            finally:
                session.close()
            assert all(not one.faults for e in events if isinstance(e, Devices) for one in e.devices)
            started = {e.pid: e.command for e in events if isinstance(e, Process) and e.what == "start"}
            assert any("train" in command for command in started.values())
            calls = [e for e in events if isinstance(e, Syscall)]
            assert {e.source for e in calls} == {Source.DEVICE}
            assert "CHANNEL_CREATE" in {e.name for e in calls}
            assert {e.pid for e in calls} <= set(started)
    finally:
        drill.stop()


def test_a_ring_has_one_reader(tmp_path: Path) -> None:

    made = Witness(1 << 16)
    assert NAME in os.readlink(f"/proc/self/fd/{made.fd}")
    path = f"/proc/self/fd/{made.fd}"
    first = Witness.adopt(os.open(path, os.O_RDWR))
    with pytest.raises(BlockingIOError):
        Witness.adopt(os.open(path, os.O_RDWR))
    first.close()
    Witness.adopt(os.open(path, os.O_RDWR)).close()
    made.close()
    other = tmp_path / "file"
    other.write_bytes(b"x" * 100)
    with pytest.raises(OSError, match="no witness ring"):
        Witness.adopt(os.open(other, os.O_RDWR))
