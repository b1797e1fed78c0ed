"""Sessions for real: what they see, that a recording shows the same, and that nothing outlives them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from glassstack.collectors.control import discover
from glassstack.collectors.kmsg import KmsgCollector
from glassstack.model.events import Event, Output, Process, Syscall
from glassstack.session import Session
from glassstack.session.compose import attach, attach_session, demo_session, run_session
from glassstack.store.recording import Player
from glassstack.store.snapshot import Snapshot
from glassstack.store.stack import layers
from glassstack.store.store import Store
from tests.support import ROOT, eventually


def watch(session: Session, enough: Callable[[Snapshot], bool]) -> Store:
    """Reads until the picture is what the test waits for."""
    store = Store()

    def look() -> bool:
        batch = session.read(0.05)
        assert batch is not None, session.last_words()
        store.apply(batch)
        return enough(store.snapshot())

    eventually(look, timeout=20)
    return store


@pytest.mark.root
def test_a_session_hears_the_kernel(native: Path) -> None:
    """A line of its log, written by the test itself."""
    if not KmsgCollector().probe().ready:
        pytest.skip("the kernel's log is closed here")
    mark = f"glassstack session {os.getpid()}"
    session = demo_session()
    try:

        def heard(s: Snapshot) -> bool:
            Path("/dev/kmsg").write_text(f"<4>{mark}\n")
            return any(log.text == mark for log in s.log) and bool(s.capabilities)

        store = watch(session, heard)
    finally:
        session.close()
    assert any(one.name == "kernel log" and one.ready for one in store.snapshot().capabilities)


def read_all(session: Session) -> list[Event]:
    events: list[Event] = []
    while (batch := session.read(5)) is not None:
        events += batch
    return events


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_demonstration_shows_every_layer_and_both_ways_to_submit(native: Path) -> None:
    session = demo_session()
    try:
        store = watch(
            session,
            lambda s: (
                s.counts.get("SUBMIT", 0) >= 23
                and any(c.ring_size and c.doorbells >= 23 for c in s.channels)
                and all(layer.version for layer in layers(s) if layer.key in ("runtime", "umd", "kmd"))
                and s.holders is not None
                and len(s.holders) > 4
                and s.processes is not None
                and bool(s.capabilities and s.cgroups and s.rings and s.completions)
            ),
        )
    finally:
        session.close()
    seen = store.snapshot()
    assert [layer.health for layer in layers(seen)].count("ok") >= 5
    assert seen.dropped == ()
    assert session.last_words() == []
    assert not any(is_alive(tracked.pid) for tracked in seen.tracked)


@pytest.mark.ptrace
def test_a_launched_program_is_seen_to_its_end_with_its_output(native: Path, tmp_path: Path) -> None:
    record = tmp_path / "client.gls"
    session = run_session(
        (str(native / "fakegpu-client"), "--only", "vecadd"), (str(native / "fakegpu-run"),), record=record
    )
    try:
        events = read_all(session)
    finally:
        session.close()
    calls = [event for event in events if isinstance(event, Syscall)]
    assert {"open", "ALLOC", "MAP", "SUBMIT", "WAIT", "mmap", "close"} <= {call.name for call in calls}
    output = "".join(event.text for event in events if isinstance(event, Output))
    assert output == "PASS vecadd\n1 passed, 0 failed\n"
    ends = [e for e in events if isinstance(e, Process) and e.what == "exit" and e.pid == e.tid]
    assert [(end.status, end.signal) for end in ends] == [(0, None)]
    live = Store()
    live.apply(events)
    player = Player(record)
    player.seek(player.length)
    replayed = player.snapshot()
    player.close()
    assert replayed.counts == live.snapshot().counts
    assert replayed.tracked == live.snapshot().tracked
    assert layers(replayed)[0] == layers(live.snapshot())[0]


@pytest.mark.ptrace
def test_an_attached_program_runs_on_and_another_can_be_added(native: Path) -> None:
    words = ("--wait-all", "--", str(native / "fakegpu-train"), "--rate", "50")
    programs = [subprocess.Popen([native / "fakegpu-run", *words]) for _ in range(2)]
    try:
        pids = [_child(program.pid) for program in programs]
        session = attach_session(pids[0])
        try:
            watch(session, lambda s: any(c.pid == pids[0] for c in s.channels))
            attach(session, pids[1])
            watch(session, lambda s: any(t.pid == pids[1] for t in s.tracked))
        finally:
            session.close()
        for pid in pids:
            assert "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text()
            assert is_alive(pid)
    finally:
        for program in programs:
            program.terminate()
            program.wait()


def _child(launcher: int) -> int:
    """The program of a launcher, once it has become itself."""

    def look() -> int:
        found = [p.pid for p in psutil.Process(launcher).children() if p.name() == "fakegpu-train"]
        return found[0] if found else 0

    return eventually(look)


_DEMO = """
import time
from glassstack.session.compose import demo_session
session = demo_session()
while True:
    session.read(0.1)
"""


def test_a_killed_front_end_leaves_no_process_and_no_device(native: Path) -> None:
    front = subprocess.Popen([sys.executable, "-c", _DEMO], cwd=ROOT)
    mine = f"fakegpu/{os.getuid()}/glassstack-{front.pid}-"
    try:
        eventually(lambda: len(psutil.Process(front.pid).children(recursive=True)) >= 5)
        eventually(lambda: any(name.startswith(mine) for name in discover()))
        family = [child.pid for child in psutil.Process(front.pid).children(recursive=True)]
    finally:
        front.send_signal(signal.SIGKILL)
        front.wait()
    eventually(lambda: not any(is_alive(pid) for pid in family))
    assert not any(name.startswith(mine) for name in discover())
