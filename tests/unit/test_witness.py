"""The witness ring: a writer as witness.h describes it, and what the reader makes of its records."""

from __future__ import annotations

import mmap
import os
import random
import struct
import sys
from collections.abc import Iterator

import pytest

from glassstack.collectors.witness import Witness
from glassstack.decoders import fakegpu
from glassstack.model.codec import encode_line
from glassstack.model.events import Channels, Dropped, Failed, Log, Syscall
from glassstack.model.values import Source

ALLOC = fakegpu.BY_NAME["ALLOC"].request
SUBMIT = fakegpu.BY_NAME["SUBMIT"].request
IOCTL, OPENAT, STATX = 16, 257, 332


def padded(data: bytes) -> bytes:
    """To a multiple of 8, as every part of a record is."""
    return data + bytes(-len(data) % 8)


class Device:
    """The writing side, over a mapping of its own, as the daemon has it."""

    def __init__(self, fd: int, size: int) -> None:
        self._map = mmap.mmap(os.dup(fd), 4096 + size)
        self._size = size

    def _word(self, offset: int) -> int:
        return int(struct.unpack_from("<Q", self._map, offset)[0])

    def write(self, kind: int, body: bytes, ts: int = 1, device: int = 0) -> bool:
        """One record; false when it did not fit and was counted."""
        record = padded(struct.pack("<IHHQ", 0, kind, device, ts) + body)
        head, tail = self._word(24), self._word(64)
        at = head % self._size
        gap = self._size - at if at + len(record) > self._size else 0
        if head + gap + len(record) - tail > self._size:
            struct.pack_into("<Q", self._map, 128, self._word(128) + 1)
            return False
        if gap:
            struct.pack_into("<IHH", self._map, 4096 + at, gap, 0, 0)
            at = 0
        self._map[4096 + at : 4096 + at + len(record)] = struct.pack("<I", len(record)) + record[4:]
        struct.pack_into("<Q", self._map, 24, head + gap + len(record))
        return True

    def call(
        self,
        nr: int,
        args: tuple[int, ...],
        before: bytes = b"",
        after: bytes = b"",
        payload: bytes = b"",
        ret: int = 0,
        ts: int = 1000,
        done: int = 1500,
        pid: int = 7,
        tid: int = 8,
        device: int = 0,
    ) -> bool:
        """A call that the device answered."""
        all_args = (*args, *(0,) * (6 - len(args)))
        sizes = (len(before), len(after), len(payload), 0)
        body = struct.pack("<QiiiIq6Q4H", done, pid, tid, nr, 1, ret, *all_args, *sizes)
        return self.write(1, body + padded(before) + padded(after) + padded(payload), ts, device)

    def alloc(self, size: int = 4096, ts: int = 1000) -> bool:
        """An ALLOC that gave handle 3."""
        before, after = struct.pack("<QII", size, 0, 0), struct.pack("<QII", size, 0, 3)
        return self.call(IOCTL, (5, ALLOC, 0x7FFF0000), before, after, ts=ts, done=ts + 500)

    def overwrite(self, offset: int, data: bytes) -> None:
        """Damages the file."""
        self._map[offset : offset + len(data)] = data

    def context(self, context: int, opened: int, pid: int = 7, ts: int = 1) -> bool:
        """A context came or went."""
        return self.write(2, struct.pack("<iIIIQ", pid, context, opened, 0, 99), ts)

    def progress(self, context: int, channel: int, jobs: int, xid: int = 0, ts: int = 2) -> bool:
        """A channel moved."""
        body = struct.pack("<IIIIQQQII", context, channel, 8 * jobs, 8 * jobs, jobs, jobs, jobs, xid, 0)
        return self.write(3, body, ts)

    def log(self, text: str, level: int = 3, ts: int = 3) -> bool:
        """A line of the kernel log."""
        raw = text.encode()
        return self.write(4, struct.pack("<II", level, len(raw)) + raw, ts)


@pytest.fixture
def witness() -> Iterator[Witness]:
    made = Witness(size=1 << 16, machine="x86_64")
    yield made
    made.close()


@pytest.fixture
def device(witness: Witness) -> Device:
    return Device(witness.fd, 1 << 16)


def test_an_ioctl_becomes_a_decoded_syscall(witness: Witness, device: Device) -> None:
    device.alloc(size=8192, ts=1000)
    assert witness.read() == [
        Syscall(
            1000, Source.DEVICE, 7, 8, "ioctl", "/dev/fakegpu0", "ALLOC",
            {"size": 8192, "handle": 3}, 0, None, 500, 5, ALLOC,
        )
    ]  # fmt: skip


def test_a_submit_tells_what_its_packets_were(witness: Witness, device: Device) -> None:
    packets = struct.pack("<HHIQ", 4, 16, 0, 1000) * 2
    before = struct.pack("<IIQIIQ", 1, 0, 0x7FFF0000, len(packets), 0, 0)
    device.call(IOCTL, (5, SUBMIT, 1), before, before[:-8] + struct.pack("<Q", 23), packets, device=1)
    (call,) = witness.read()
    assert isinstance(call, Syscall)
    assert (call.name, call.device) == ("SUBMIT", "/dev/fakegpu1")
    assert (call.fields["ops"], call.fields["seqno"]) == ("DELAY ×2", 23)


def test_a_failed_call_shows_its_errno_and_no_out_fields(witness: Witness, device: Device) -> None:
    before = struct.pack("<QII", 1 << 40, 0, 77)
    device.call(IOCTL, (5, ALLOC, 1), before, ret=-122)
    (call,) = witness.read()
    assert isinstance(call, Syscall)
    assert (call.errno, call.ret, call.fields) == ("EDQUOT", -122, {"size": 1 << 40})


def test_opens_and_other_calls_on_the_path(witness: Witness, device: Device) -> None:
    at = 2**64 - 100
    path = b"/dev/fakegpuctl\0"
    device.call(OPENAT, (at, 0x1000, 0o2000002), path, ret=6, device=255, ts=1, done=2)
    device.call(STATX, (at, 0x1000), b"/dev/fakegpu-uvm\0", ret=-2, device=256, ts=3, done=4)
    opened, looked = witness.read()
    assert isinstance(opened, Syscall)
    assert isinstance(looked, Syscall)
    assert (opened.syscall, opened.name, opened.fd, opened.device) == ("openat", "open", 6, "/dev/fakegpuctl")
    assert opened.fields == {"path": "/dev/fakegpuctl", "flags": "O_RDWR|O_CLOEXEC"}
    assert (looked.name, looked.errno, looked.device, looked.fd) == (
        "statx",
        "ENOENT",
        "/dev/fakegpu-uvm",
        None,
    )


def test_progress_is_told_per_process_with_all_its_channels(witness: Witness, device: Device) -> None:
    device.context(1, opened=1, pid=7)
    device.context(2, opened=1, pid=9)
    device.progress(1, 0, jobs=5)
    device.progress(1, 1, jobs=6)
    device.progress(2, 0, jobs=7, xid=31)
    seen = {event.pid: event for event in witness.read() if isinstance(event, Channels)}
    assert [(c.index, c.jobs) for c in seen[7].channels] == [(0, 5), (1, 6)]
    assert [(c.context, c.error) for c in seen[9].channels] == [(2, 31)]
    device.progress(1, 1, jobs=23)
    (again,) = witness.read()
    assert isinstance(again, Channels)
    assert [(c.index, c.jobs) for c in again.channels] == [(0, 5), (1, 23)]


def test_the_last_progress_of_a_context_is_told_then_it_is_forgotten(
    witness: Witness, device: Device
) -> None:
    device.context(1, opened=1)
    device.progress(1, 0, jobs=23)
    device.context(1, opened=0)
    (last,) = witness.read()
    assert isinstance(last, Channels)
    assert last.channels[0].jobs == 23
    device.context(2, opened=1)
    device.progress(2, 0, jobs=1)
    (other,) = witness.read()
    assert isinstance(other, Channels)
    assert [c.context for c in other.channels] == [2]


def test_a_log_line_brings_its_xid(witness: Witness, device: Device) -> None:
    text = "FGPU: Xid (PCI:0000:01:00): 31, pid=7, name=a b, Ch 00000001, MMU Fault: x"
    device.log(text)
    device.log("FGPU: loaded", level=6)
    bad, good = witness.read()
    assert isinstance(bad, Log)
    assert isinstance(good, Log)
    assert (bad.text, bad.level, bad.xid, bad.pid) == (text, 3, 31, 7)
    assert (good.level, good.xid, good.pid) == (6, None, None)


def test_nothing_is_lost_or_torn_over_many_laps(witness: Witness, device: Device) -> None:
    total = 23 * 211
    seen: list[int] = []
    for number in range(total):
        assert device.alloc(size=8 * number, ts=number)
        if number % 97 == 0:
            seen += [event.fields["size"] for event in witness.read() if isinstance(event, Syscall)]  # type: ignore[misc]
    seen += [event.fields["size"] for event in witness.read() if isinstance(event, Syscall)]  # type: ignore[misc]
    assert seen == [8 * number for number in range(total)]
    assert witness.waiting == 0


def test_what_did_not_fit_is_counted_once(witness: Witness, device: Device) -> None:
    written = sum(device.alloc(ts=number) for number in range(1000))
    assert 0 < written < 1000
    events = witness.read()
    dropped = [event for event in events if isinstance(event, Dropped)]
    assert [event.count for event in dropped] == [1000 - written]
    assert len(events) == written + 1
    device.alloc()
    assert not [event for event in witness.read() if isinstance(event, Dropped)]


def test_reading_in_portions(witness: Witness, device: Device) -> None:
    for number in range(23):
        device.alloc(ts=number)
    sizes = []
    while batch := witness.read(max_records=7):
        sizes.append(len(batch))
    assert sizes == [7, 7, 7, 2]


def test_calls_written_down_late_come_in_the_order_in_which_they_ended(
    witness: Witness, device: Device
) -> None:
    device.alloc(ts=2000)
    device.alloc(ts=1000)
    assert [event.ts for event in witness.read()] == [1000, 2000]


def test_a_record_of_a_newer_device_is_passed_over(witness: Witness, device: Device) -> None:
    device.write(77, b"12345678")
    device.alloc()
    assert [type(event) for event in witness.read()] == [Syscall]


def test_a_torn_ring_ends_in_one_failure_and_no_loop(witness: Witness, device: Device) -> None:
    device.alloc()
    device.overwrite(4096, struct.pack("<I", 12))
    assert [type(event) for event in witness.read()] == [Failed]
    assert witness.read() == []


def test_the_descriptor_is_for_the_device_to_inherit(witness: Witness) -> None:
    script = (
        "import os, struct, sys; fd = int(sys.argv[1]); os.pread(fd, 8, 0);"
        "print(struct.unpack('<QII Q', os.pread(fd, 24, 0)))"
    )
    read, write = os.pipe()
    pid = os.posix_spawn(
        sys.executable,
        (sys.executable, "-S", "-c", script, str(witness.fd)),
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)],
    )
    os.close(write)
    with open(read, "rb") as output:
        text = output.read().decode()
    os.waitpid(pid, 0)
    assert text.strip() == str((0x31544957555047, 1, 0, 1 << 16))


def test_a_size_that_is_no_power_of_two_is_refused() -> None:
    with pytest.raises(ValueError, match="power of two"):
        Witness(size=5000)


def test_random_bytes_never_raise_and_never_hang(witness: Witness, device: Device) -> None:
    chance = random.Random(23)
    for _ in range(300):
        body = chance.randbytes(chance.randrange(0, 400))
        device.write(chance.randrange(6), body, ts=chance.getrandbits(64), device=chance.getrandbits(16))
    events = witness.read()
    assert len(events) > 50
    for event in events:
        encode_line(event)


def test_a_ring_of_noise_ends_in_a_failure() -> None:
    for seed in range(23):
        witness = Witness(size=1 << 16, machine="x86_64")
        noise = random.Random(seed).randbytes(1 << 16)
        device = Device(witness.fd, 1 << 16)
        device.overwrite(4096, noise)
        device.overwrite(24, struct.pack("<Q", 1 << 16))
        assert any(isinstance(event, Failed) for event in witness.read())
        assert witness.read() == []
        witness.close()
        witness.close()
