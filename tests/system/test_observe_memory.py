"""The readers against the real memory of a real process whose pages are known byte by byte."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassstack.collectors.channels import ChannelPoller
from glassstack.collectors.completions import CompletionPoller
from glassstack.collectors.maps import Maps, MapsCollector
from glassstack.collectors.memory import DeviceFile, GoneError, Memory, UnreadableError
from glassstack.collectors.spaces import Spaces
from glassstack.model.events import Channels, Completions, Mappings, Ring
from tests.support import eventually
from tests.system.observe_context import ENTRIES, LAYOUT, RING_SIZE, Program, program

GLASSSTACK = (sys.executable, "-m", "glassstack.cli.main")


@pytest.fixture
def child() -> Iterator[Program]:
    with program() as started:
        yield started


def channels(child: Program) -> ChannelPoller:
    return ChannelPoller(lambda: [child.pid], Spaces())


def glassstack(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run((*GLASSSTACK, *args), capture_output=True, text=True, timeout=30)


def ended(child: Program) -> None:
    child.process.kill()
    child.process.wait()


def test_every_device_mapping_is_told_apart(child: Program) -> None:
    found = {m.what: m for m in Maps().read(child.pid) if m.device}
    assert {what: (m.offset, m.size) for what, m in found.items()} == {
        what: (offset, size) for what, (offset, size) in LAYOUT.items()
    }
    assert {m.device for m in found.values()} == {"/dev/fakegpu0"}
    assert len({m.inode for m in found.values()}) == 1
    assert [m.channel for m in found.values() if m.what == "ring"] == [1]


def test_memory_is_read_as_it_is() -> None:
    text = ctypes.create_string_buffer(b"twenty-three")
    assert Memory(os.getpid()).read(ctypes.addressof(text), 12) == b"twenty-three"
    with pytest.raises(UnreadableError, match="nothing readable is mapped there"):
        Memory(os.getpid()).read(8, 16)
    with pytest.raises(UnreadableError):
        Memory(os.getpid()).read(2**64 - 8, 8)


def test_mem_file_serves_where_the_fast_way_is_shut(child: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    child.ask("run", 23)
    fence = next(m for m in Maps().read(child.pid) if m.what == "fence")
    fast = Memory(child.pid).read(fence.start, 4096)
    monkeypatch.setattr("glassstack.collectors.memory._readv", lambda *args: -1)
    assert Memory(child.pid).read(fence.start, 4096) == fast
    assert any(fast)


def test_the_devices_file_says_the_same(child: Program) -> None:
    child.ask("run", 23)
    fence = next(m for m in Maps().read(child.pid) if m.what == "fence")
    file = DeviceFile(child.pid, fence.inode)
    assert file.read(0x1000, 4096) == Memory(child.pid).read(fence.start, 4096)
    child.ask("drop")
    with pytest.raises(UnreadableError, match="closed its descriptor"):
        file.read(0x1000, 4096)


def test_the_devices_file_serves_where_memory_is_shut(
    child: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shut(self: Memory, address: int, size: int) -> bytes:
        raise UnreadableError("no permission")

    monkeypatch.setattr(Memory, "read", shut)
    child.ask("run", 23)
    told = [event for event in channels(child).sample() if isinstance(event, Channels)]
    assert [c.jobs for event in told for c in event.channels] == [23]
    child.ask("drop")
    (event,) = channels(child).sample()
    assert isinstance(event, Channels)
    assert event.missing == (
        "doorbells and fences: no permission; the process has closed its descriptor of the device"
    )


def test_channels_advance_with_the_program(child: Program) -> None:
    poller = channels(child)
    (idle, _) = poller.sample()
    assert isinstance(idle, Channels)
    assert [(c.index, c.jobs, c.ring_size) for c in idle.channels] == [(1, 0, RING_SIZE)]
    child.ask("run", 23)
    (busy, ring) = poller.sample()
    assert isinstance(busy, Channels)
    (c,) = busy.channels
    assert (c.jobs, c.doorbells, c.seqno, c.wptr, c.rptr) == (23, 23, 23, 23 * 48, 23 * 48)
    assert (c.done_ns, c.error, c.device) == (23_000, 0, "/dev/fakegpu0")
    assert isinstance(ring, Ring)
    child.ask("poison", 31)
    (sick,) = poller.sample()
    assert isinstance(sick, Channels)
    assert sick.channels[0].error == 31


def test_a_ring_shows_what_was_done_and_what_waits(child: Program) -> None:
    child.ask("run", 1)
    child.ask("queue", 2)
    ring = next(event for event in channels(child).sample() if isinstance(event, Ring))
    assert [(p.name, p.state) for p in ring.packets] == [
        ("FILL", "done"),
        ("FENCE", "done"),
        ("FILL", "pending"),
        ("FENCE", "pending"),
        ("FILL", "pending"),
        ("FENCE", "pending"),
    ]
    assert (ring.wptr - ring.rptr, ring.size, ring.channel) == (96, RING_SIZE, 1)
    assert ring.packets[-1].fields == {"seqno": 3}


def test_rings_decode_at_every_place_of_the_lap(child: Program) -> None:
    poller = channels(child)
    poller.sample()
    for _ in range(97):
        child.ask("run", 2)
        child.ask("queue", 1)
        ring = next(event for event in poller.sample() if isinstance(event, Ring))
        names = [p.name for p in ring.packets if p.name != "NOP"]
        assert set(names) == {"FILL", "FENCE"}
        if ring.wptr % RING_SIZE + 1024 > RING_SIZE:
            # The program may be writing over the start of the lap already.
            assert {p.state for p in ring.packets} == {"pending"}
        assert [p.name for p in ring.packets if p.state == "pending" and p.name != "NOP"] == ["FILL", "FENCE"]
        child.ask("finish", 1)


def test_every_completion_is_told_once(child: Program) -> None:
    poller = CompletionPoller(lambda: [child.pid], Spaces())
    poller.sample()
    seen: list[int] = []
    for jobs in (1, 23, 500, 499, 211):
        child.ask("run", jobs)
        (event,) = poller.sample()
        assert isinstance(event, Completions)
        assert event.lost == 0
        seen += [entry.seqno for entry in event.entries]
    assert seen == list(range(1, 1 + 1 + 23 + 500 + 499 + 211))
    assert poller.sample() == []


def test_completions_written_over_are_counted(child: Program) -> None:
    poller = CompletionPoller(lambda: [child.pid], Spaces())
    poller.sample()
    child.ask("run", ENTRIES + 23)
    (event,) = poller.sample()
    assert isinstance(event, Completions)
    # The oldest slot left may be half written at any moment, so it counts as lost too.
    assert (event.lost, len(event.entries), event.written) == (24, ENTRIES - 1, ENTRIES + 23)
    assert event.entries[-1].seqno == ENTRIES + 23
    assert (event.entries[0].queued_ns, event.entries[0].start_ns, event.entries[0].done_ns) == (
        25000,
        25100,
        25350,
    )


def test_a_fork_does_not_count_twice(child: Program) -> None:
    child.ask("run", 23)
    poller = ChannelPoller(lambda: [child.pid, child.pid], Spaces())
    counted = [c for event in poller.sample() if isinstance(event, Channels) for c in event.channels]
    assert [c.jobs for c in counted] == [23]


def test_no_permission_is_a_reason(child: Program) -> None:
    child.ask("secret")
    script = (
        "import os, sys; import glassstack.cli.maps; from glassstack.cli.main import main;"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534);"
        "sys.exit(main(['maps', sys.argv[1], '--once']))"
    )
    if os.geteuid():
        result = glassstack("maps", str(child.pid), "--once")
    else:
        result = subprocess.run(
            (sys.executable, "-c", script, str(child.pid)),
            capture_output=True,
            text=True,
        )
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "no permission to look into the process" in result.stderr


def test_a_dead_process_is_gone(child: Program) -> None:
    fence = next(m for m in Maps().read(child.pid) if m.what == "fence")
    poller = channels(child)
    poller.sample()
    child.process.kill()
    eventually(lambda: "State:\tZ" in Path(f"/proc/{child.pid}/status").read_text())
    with pytest.raises(GoneError):
        Memory(child.pid).read(fence.start, 8)
    with pytest.raises(GoneError):
        Maps().read(child.pid)
    assert poller.sample() == []
    child.process.wait()
    with pytest.raises(GoneError):
        Maps().read(child.pid)
    (event,) = MapsCollector(lambda: [child.pid]).sample()
    assert isinstance(event, Mappings)
    assert event.missing == "the process has ended"


def test_maps_command(child: Program) -> None:
    text = glassstack("maps", str(child.pid), "--once")
    assert (text.returncode, text.stderr) == (0, "")
    for what in (*LAYOUT, "ring 1", "/dev/fakegpu0"):
        assert what in text.stdout
    lines = glassstack("maps", str(child.pid), "--once", "--json").stdout.splitlines()
    (event,) = [json.loads(line) for line in lines]
    assert (event["kind"], event["pid"]) == ("mappings", child.pid)
    assert {m["what"] for m in event["mappings"]} >= set(LAYOUT)


def test_fences_command(child: Program) -> None:
    child.ask("run", 23)
    child.ask("queue", 1)
    text = glassstack("fences", str(child.pid), "--once")
    assert (text.returncode, text.stderr) == (0, "")
    assert "48 B queued of 4 KiB" in text.stdout
    assert "FENCE   pending  seqno=24" in text.stdout
    lines = glassstack("fences", "--once", "--json").stdout.splitlines()
    events: list[dict[str, Any]] = [json.loads(line) for line in lines]
    mine = {event["kind"]: event for event in events if event["pid"] == child.pid}
    assert mine["channels"]["channels"][0]["jobs"] == 23
    assert len(mine["completions"]["entries"]) == 23
    assert [p["name"] for p in mine["ring"]["packets"]][-2:] == ["FILL", "FENCE"]


def test_mappings_taken_away_are_not_called_unreadable(child: Program) -> None:
    child.ask("run", 23)
    poller = channels(child)
    poller.sample()
    child.ask("drop")
    child.ask("unmap")
    (event,) = poller.sample()
    assert isinstance(event, Channels)
    assert (event.channels, event.missing) == ((), "")


@pytest.mark.parametrize("command", ["maps", "fences"])
def test_commands_about_a_process_that_is_not_there(command: str, child: Program) -> None:
    ended(child)
    result = glassstack(command, str(child.pid), "--once")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"glassstack: no process with pid {child.pid};")
    assert glassstack(command, "0").returncode == 2


@pytest.mark.parametrize("command", ["maps", "fences"])
def test_a_process_that_ends_while_watched_ends_the_command_well(command: str, child: Program) -> None:
    arguments = (*GLASSSTACK, command, str(child.pid), "--json", "--interval", "0.05")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline()
        child.process.send_signal(signal.SIGKILL)
        _, errors = watching.communicate(timeout=20)
    assert watching.returncode == 0
    assert errors.count("\n") == 1
    assert str(child.pid) in errors
