"""Calls that do not return: the tracer tells of them while they last."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from glassstack.collectors.tracer.options import Options
from glassstack.collectors.tracer.spawn import Tracer
from glassstack.model.entities import InFlight
from glassstack.model.events import Calls, Event, Process, Syscall

pytestmark = pytest.mark.ptrace


def events(tracer: Tracer) -> Iterator[Event]:
    while (batch := tracer.read(30)) is not None:
        assert batch, "no event for 30 s"
        yield from batch


def calls(tracer: Tracer) -> Iterator[tuple[InFlight, ...]]:
    return (event.calls for event in events(tracer) if isinstance(event, Calls))


def test_a_call_that_blocks_is_told_while_it_lasts(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        pytest.skip("no /dev/shm to put a pipe into")
    fifo = shared / f"glassstack-test-{os.getpid()}"
    os.mkfifo(fifo)
    try:
        tracer = Tracer(Options(command=("sh", "-c", f": < {fifo}"), any_node=True))
        told = calls(tracer)
        (blocked,) = next(told)
        assert (blocked.syscall, blocked.name, blocked.fields["path"]) == ("openat", "open", str(fifo))
        fifo.open("w").close()
        assert next(told) == ()
        assert tracer.close() == 0
    finally:
        fifo.unlink()


def test_a_wait_that_the_embedded_device_has_not_answered(native: Path) -> None:
    runner = (str(native / "fakegpu-run"), "--fault", "slow=700000000")
    command = (str(native / "fakegpu-burst"), "--bursts", "1", "--size", "1")
    tracer = Tracer(Options(command=command, runner=runner))
    seen = list(events(tracer))
    assert tracer.close() == 0
    told = [event.calls for event in seen if isinstance(event, Calls)]
    assert [call.name for call in told[0]] == ["WAIT"]
    assert told[0][0].device == "/dev/fakegpu0"
    assert "seqno" in told[0][0].fields
    assert told[-1] == ()
    waits = [event for event in seen if isinstance(event, Syscall) and event.name == "WAIT"]
    assert max(wait.dur_ns or 0 for wait in waits) > 300_000_000
    assert [event.status for event in seen if isinstance(event, Process) and event.what == "exit"] == [0]
