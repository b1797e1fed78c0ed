"""Records of the BPF program: reading the ring in bulk, and what becomes of a record."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from glassstack.collectors.bpf import records
from glassstack.collectors.bpf.calls import running
from glassstack.collectors.bpf.records import RECORD, STRIDE, Block
from glassstack.collectors.bpf.ring import RingReader
from glassstack.decoders.fakegpu import BY_NAME
from glassstack.decoders.syscalls import NUMBERS
from glassstack.model.events import Calls, Syscall
from glassstack.model.values import Source

SIZE = 1 << 16
BUSY = 1 << 31
NR = NUMBERS["x86_64"]
ALLOC = BY_NAME["ALLOC"].request


def record(nr: int = NR["ioctl"], device: int = records.GPU, **more: int | bytes) -> bytes:
    """One record; what does not matter has a default."""
    values: dict[str, int | bytes] = {
        "length": STRIDE - 8,
        "page": 0,
        "entered": 1000,
        "left": 1500,
        "ret": 0,
        "cgroup": 5,
        "pid": 7,
        "tid": 8,
        "word": nr | device << 16,
        "fd": 3,
        "request": ALLOC,
        "before": 16,
        "after": 16,
        "stack": 0,
        "arg": 0x7000,
        "data": struct.pack("<QII", 4096, 0, 0).ljust(64, b"\0")
        + struct.pack("<QII", 4096, 0, 9).ljust(64, b"\0"),
    }
    return RECORD.pack(*(values | more).values())


def wide(nr: int, second: bytes, third: bytes, **more: int | bytes) -> bytes:
    """A record of three strides, with what the second and third part hold."""
    word = nr | records.GPU << 16 | records.WIDE
    first = record(**{"length": 3 * STRIDE - 8, "word": word, **more})  # type: ignore[arg-type]
    return first + b"".join(bytes(8) + part.ljust(STRIDE - 8, b"\xff") for part in (second, third))


class Ring:
    """A ring buffer's three areas in a memory file; a real one has its data mapped twice."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("ring")
        os.ftruncate(self.fd, 2 * mmap.PAGESIZE + 2 * SIZE)
        self._data = 2 * mmap.PAGESIZE
        self.end = 0

    def write(self, data: bytes) -> None:
        for at in range(0, len(data), 8):
            place = (self.end + at) % SIZE
            for copy in (0, SIZE):
                os.pwrite(self.fd, data[at : at + 8], self._data + place + copy)
        self.end += len(data)
        os.pwrite(self.fd, struct.pack("<Q", self.end), mmap.PAGESIZE)

    def commit(self, position: int, length: int) -> None:
        for copy in (0, SIZE):
            os.pwrite(self.fd, struct.pack("<I", length), self._data + position % SIZE + copy)

    def consumed(self) -> int:
        return int(struct.unpack("<Q", os.pread(self.fd, 8, 0))[0])


@pytest.fixture
def ring() -> Iterator[Ring]:
    made = Ring()
    yield made
    os.close(made.fd)


def test_reads_everything_once_in_order_over_the_end(ring: Ring) -> None:
    reader = RingReader(ring.fd, SIZE, STRIDE)
    made = got = 0
    while made < 3 * SIZE // STRIDE:
        for _ in range(100):
            ring.write(record(arg=made))
            made += 1
        for one in RECORD.iter_unpack(reader.read(1 << 20)):
            assert one[14] == got
            got += 1
        assert ring.consumed() == ring.end
    assert got == made
    assert reader.read(1 << 20) == b""
    reader.close()


def test_stops_at_a_record_that_is_being_written(ring: Ring) -> None:
    reader = RingReader(ring.fd, SIZE, STRIDE)
    ring.write(record() + record(length=STRIDE - 8 | BUSY) + record())
    assert len(reader.read(1 << 20)) == STRIDE
    assert reader.read(1 << 20) == b""
    ring.commit(STRIDE, STRIDE - 8)
    assert len(reader.read(1 << 20)) == 2 * STRIDE


def test_never_splits_a_wide_record(ring: Ring) -> None:
    reader = RingReader(ring.fd, SIZE, STRIDE)
    ring.write(record() + wide(NR["ioctl"], b"", b"") + record())
    assert [len(reader.read(3 * STRIDE)) // STRIDE for _ in range(3)] == [1, 3, 1]


def only(block: bytes) -> Syscall:
    (call,) = records.calls_of(block, records.NODES)
    assert isinstance(call, Syscall)
    return call


def test_a_call_with_everything() -> None:
    call = only(record())
    assert (call.ts, call.dur_ns, call.pid, call.tid, call.cgroup) == (1000, 500, 7, 8, 5)
    assert (call.name, call.device, call.raw, call.fd) == ("ALLOC", "/dev/fakegpu0", ALLOC, 3)
    assert call.fields["size"] == 4096
    assert call.fields["handle"] == 9


def test_a_call_whose_entry_was_not_seen_has_no_duration() -> None:
    call = only(record(entered=0, before=0))
    assert call.dur_ns is None
    assert call.ts == call.end == 1500
    assert call.fields["size"] == 4096
    assert call.fields["handle"] == 9


def test_what_a_call_wrote_over_before_it_was_seen_is_missing() -> None:
    request = BY_NAME["CHECK_VERSION"].request
    answer = struct.pack("<II", 0, 0) + b"550.54.14".ljust(64, b"\0")
    call = only(wide(NR["ioctl"], b"", answer, entered=0, before=0, after=72, request=request))
    assert call.fields["driver_version"] == "550.54.14"
    assert str(call.fields["version"]).startswith("missing: ")


def test_an_open_tells_its_path_and_descriptor() -> None:
    path = b"/dev/fakegpu0\0"
    args = struct.pack("<6Q", (1 << 64) - 100, 0x7000, 0o2, 0, 0, 0).ljust(128, b"\0")
    call = only(wide(NR["openat"], path, b"", before=len(path), after=0, ret=5, data=args))
    assert (call.name, call.fd, call.ret) == ("open", 5, 5)
    assert call.fields == {"path": "/dev/fakegpu0", "flags": "O_RDWR"}


def test_failures_have_their_errno() -> None:
    assert only(record(ret=-22)).errno == "EINVAL"


def test_unknown_numbers_and_births_are_no_calls() -> None:
    assert records.calls_of(record(records.BIRTH) + record(0xFFFF), records.NODES) == []


def test_hostile_sizes_do_not_raise() -> None:
    call = only(record(before=0xFF, after=0xFF, data=b"\xff" * 128))
    assert call.name == "ALLOC"


def test_counting_sees_only_first_parts() -> None:
    block = record(request=1) + wide(NR["ioctl"], b"", b"", request=2) + record(request=1)
    assert [records.count_ioctls(block, request) for request in (1, 2)] == [2, 1]


def test_the_wire_takes_records_and_events() -> None:
    items = [Block(record(), {16: "/dev/nvidia0"}), Calls(1, Source.EBPF, ())]
    assert records.decode(records.encode(items)) == items


def test_a_call_in_flight_is_told_with_what_it_was_given() -> None:
    entry = SimpleNamespace(
        nr=NR["ioctl"],
        device=records.GPU,
        args=(3, ALLOC, 0x7000),
        before_size=16,
        before=struct.pack("<QII", 4096, 0, 0).ljust(192, b"\0"),
        pid=7,
        ts=1000,
    )
    call = running(8, entry, records.NODES)
    assert call is not None
    assert (call.pid, call.tid, call.since, call.device, call.name) == (7, 8, 1000, "/dev/fakegpu0", "ALLOC")
    assert call.fields["size"] == 4096
    entry.device = records.OTHER
    assert running(8, entry, records.NODES) is None


SUBMIT = BY_NAME["SUBMIT"].request


def submitted(payload: bytes, entered: int = 1000, flags: int = 0, most: int = 6) -> bytes:
    """A SUBMIT with its packets in as many parts as they take."""
    argument = struct.pack("<IIQIIQ", 1, flags, 0x7000, len(payload), 0, 9).ljust(64, b"\0")
    room = STRIDE - 8
    parts = [payload[at : at + room] for at in range(0, most * room, room)]
    words: dict[str, int | bytes] = {
        "length": (1 + len(parts)) * STRIDE - 8,
        "word": NR["ioctl"] | records.GPU << 16 | records.PACKETS,
        "request": SUBMIT,
        "entered": entered,
        "before": 32 if entered else 0,
        "after": 32,
        "data": argument * 2,
    }
    tail = b"".join(struct.pack("<II", 0, len(part)) + part.ljust(room, b"\xff") for part in parts)
    return record(**words) + tail  # type: ignore[arg-type]


@pytest.mark.parametrize("entered", [1000, 0])
def test_the_packets_of_a_submit_are_decoded_from_its_parts(entered: int) -> None:
    packets = struct.pack("<HHIQ", 4, 16, 0, 1000) * 20 + struct.pack("<HHI", 0, 24, 0).ljust(24, b"\0")
    calls = records.calls_of(submitted(packets, entered) + record(), records.NODES)
    assert [call.name for call in calls if isinstance(call, Syscall)] == ["SUBMIT", "ALLOC"]
    assert isinstance(calls[0], Syscall)
    assert calls[0].fields["ops"] == "DELAY ×20, NOP"
    few = records.calls_of(submitted(packets[:32], entered, most=1), records.NODES)
    assert isinstance(few[0], Syscall)
    assert few[0].fields["ops"] == "DELAY ×2"


def test_packets_that_the_embedded_device_did_not_fetch_are_not_told() -> None:
    (refused,) = records.calls_of(submitted(bytes(16), entered=0, flags=1), records.NODES)
    assert isinstance(refused, Syscall)
    assert "ops" not in refused.fields


def test_a_stack_is_told_with_each_call_that_has_it() -> None:
    block = record(stack=3) + record() + record(stack=4, pid=9)
    stacks = {records.stack_key(7, 3): ("ioctl+0x3b [libc.so.6]", "main+0x2 [train]")}
    calls = [call for call in records.calls_of(block, records.NODES, stacks) if isinstance(call, Syscall)]
    assert [call.stack for call in calls] == [stacks[records.stack_key(7, 3)], (), ()]
    assert [
        call for call in records.calls_of(block, records.NODES) if isinstance(call, Syscall) and call.stack
    ] == []
