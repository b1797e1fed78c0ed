"""Contexts that several processes hold, in a made-up /proc: told once, under one process."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from glassstack.cli.maps import draw
from glassstack.collectors import spaces as spaces_module
from glassstack.collectors.channels import ChannelPoller
from glassstack.collectors.completions import CompletionPoller
from glassstack.collectors.maps import Maps, placed
from glassstack.collectors.memory import GoneError
from glassstack.collectors.spaces import Spaces, group
from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.model.events import Channels, Completions, Mappings
from glassstack.model.values import Source

NODE, FILE = "/dev/fakegpu0", "/memfd:fakegpu0 (deleted)"


class Machine:
    """Processes that map contexts, and what is in the fence page of each context."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.jobs: dict[int, int] = {}
        self.unreadable: set[int] = set()
        self._at: dict[tuple[int, int], int] = {}

    def maps(self, pid: int, *contexts: int, path: str = NODE) -> None:
        """As the kernel shows what the module's driver, or the embedded device, has set up."""
        (self.root / str(pid)).mkdir(exist_ok=True)
        lines = []
        for number, context in enumerate(contexts):
            for start, size in ((uapi.OFF_FENCE, uapi.PAGE), (uapi.OFF_COMPLETION, uapi.COMPLETION_SIZE)):
                real = path == NODE
                offset = start + context * uapi.OFF_END if real else start
                at = 0x7F0000000000 + number * 0x100000 + start
                self._at[pid, at] = context
                inode = 7 if real else 1000 + context
                lines.append(f"{at:x}-{at + size:x} rw-s {offset:08x} 00:06 {inode}   {path}\n")
        (self.root / str(pid) / "maps").write_text("".join(lines))

    def read(self, pid: int, address: int, size: int) -> bytes:
        """What Memory would."""
        if pid in self.unreadable:
            raise GoneError("it has ended")
        if (pid, address) in self._at and size == uapi.MAX_CHANNELS * uapi.SLOT:
            jobs = self.jobs[self._at[pid, address]]
            slot = uapi.layout("fence_slot").pack(jobs, 0, 0, 0, jobs, 5, bytes(24))
            return slot.ljust(size, b"\0")
        start = max(at for reader, at in self._at if reader == pid and at <= address)
        written = self.jobs[self._at[pid, start]]
        ring = struct.pack("=IIQ48x", 1023, 64, written)
        ring += b"".join(
            uapi.layout("completion").pack(n + 1, 1, 2, 3, 0, 0, 0, bytes(16)) for n in range(written)
        )
        return ring.ljust(uapi.COMPLETION_SIZE, b"\0")[address - start :][:size]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(tmp_path)

    class Memory:
        def __init__(self, pid: int, proc: Path) -> None:
            self.pid = pid

        def read(self, address: int, size: int) -> bytes:
            return machine.read(self.pid, address, size)

    monkeypatch.setattr(spaces_module, "Memory", Memory)
    monkeypatch.setattr(spaces_module, "_FRESH_S", -1.0)
    monkeypatch.setattr(spaces_module, "_SHARE", 0)
    return machine


def told(poller: ChannelPoller) -> list[tuple[int, int, int]]:
    """(pid, context, jobs) of each channel."""
    events = [event for event in poller.sample() if isinstance(event, Channels)]
    assert not [event.missing for event in events if event.missing]
    return [(c.pid, c.context, c.jobs) for event in events for c in event.channels]


def test_a_mapping_of_the_module_says_whose_it_is() -> None:
    assert placed(NODE, uapi.OFF_FENCE) == (0, uapi.OFF_FENCE)  # a module that does not tell
    assert placed(NODE, 23 * uapi.OFF_END + uapi.OFF_RING) == (23, uapi.OFF_RING)
    assert placed(FILE, 23 * uapi.OFF_END) == (0, 23 * uapi.OFF_END)
    assert placed("/dev/nvidia0", 23 * uapi.OFF_END) == (0, 23 * uapi.OFF_END)
    last = uapi.MAPS_CONTEXTS - 1
    assert placed(NODE, last * uapi.OFF_END + uapi.OFF_BUFFER) == (last, uapi.OFF_BUFFER)


def test_two_contexts_of_one_process_are_told_apart(machine: Machine) -> None:
    machine.maps(7, 5, 6)
    found = Maps(machine.root).read(7)
    assert [(m.what, m.context, m.offset) for m in found] == [
        ("fence", 5, uapi.OFF_FENCE),
        ("completion", 5, uapi.OFF_COMPLETION),
        ("fence", 6, uapi.OFF_FENCE),
        ("completion", 6, uapi.OFF_COMPLETION),
    ]
    spaces = group(7, found, lambda device, inode: pytest.fail("the mapping tells already"))
    assert [space.context for space in spaces] == [5, 6]
    rows = draw([Mappings(1, Source.POLL, 7, found)], 0)[2:]
    assert [row.split("  ")[-1] for row in rows] == [f"{NODE} (context {n})" for n in (5, 5, 6, 6)]


@pytest.mark.parametrize("path", [NODE, FILE])
def test_a_fork_shares_its_parents_context(machine: Machine, path: str) -> None:
    machine.jobs = {5: 23, 6: 2}
    machine.maps(7, 5, path=path)
    machine.maps(8, 5, path=path)
    machine.maps(9, 6, path=path)
    spaces = Spaces(machine.root, lambda device, inode: inode - 1000)
    assert told(ChannelPoller(lambda: [9, 8, 7], spaces)) == [(7, 5, 23), (9, 6, 2)]
    completions = CompletionPoller(lambda: [9, 8, 7], spaces)
    events = [event for event in completions.sample() if isinstance(event, Completions)]
    assert [(event.pid, event.context, len(event.entries)) for event in events] == [(7, 5, 23), (9, 6, 2)]


def test_it_goes_by_the_same_process_until_that_lets_go_of_it(machine: Machine) -> None:
    pids = [8]
    machine.jobs = {5: 1, 6: 4}
    machine.maps(8, 5)
    poller = ChannelPoller(lambda: pids, Spaces(machine.root))
    assert told(poller) == [(8, 5, 1)]
    machine.maps(7, 6, 5)  # was handed the descriptor
    pids.append(7)
    assert told(poller) == [(7, 6, 4), (8, 5, 1)]
    machine.maps(8)
    assert sorted(told(poller)) == [(7, 5, 1), (7, 6, 4)]
    pids.remove(7)
    assert told(poller) == []


def test_it_goes_by_another_when_its_process_has_ended(machine: Machine) -> None:
    machine.jobs = {5: 1}
    machine.maps(7, 5)
    machine.maps(8, 5)
    pids = [7, 8]
    poller = ChannelPoller(lambda: pids, Spaces(machine.root))
    assert told(poller) == [(7, 5, 1)]
    (machine.root / "7" / "maps").write_text("")
    assert told(poller) == [(8, 5, 1)]


def test_where_the_driver_does_not_tell_a_process_has_its_own(machine: Machine) -> None:
    machine.jobs = {0: 1}
    machine.maps(7, 0)
    machine.maps(8, 0)
    spaces = Spaces(machine.root)
    assert told(ChannelPoller(lambda: [7, 8], spaces)) == [(7, 7, 1), (8, 7, 1)]  # context: the inode
