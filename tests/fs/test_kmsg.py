"""The kernel log: records as the kernel writes them, pieces, losses, and a device that is a file."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from glassstack.collectors.gaps import Gaps
from glassstack.collectors.kmsg import Joiner, KmsgCollector, Record, parse_record
from glassstack.model.events import Dropped, Log
from tests.support import eventually


@pytest.mark.parametrize(
    ("data", "record"),
    [
        (b"3,7,1500,-;NVRM: x\n", Record(3, 7, 1_500_000, "NVRM: x")),
        (b"30,7,0,-;user space: level 6\n", Record(6, 7, 0, "user space: level 6")),
        (b"4,8,2,-,caller=T1;a; b\n SUBSYSTEM=pci\n DEVICE=+pci:0000:01:00.0\n", Record(4, 8, 2000, "a; b")),
        (b"4,9,3,-;one\\x0a  two\\x0a\n", Record(4, 9, 3000, "one two")),
        (b"4,9,3,-;tab\\x09 and \\xc3\\xa9 and \\xff\n", Record(4, 9, 3000, "tab\t and é and \ufffd")),
        (b"4,9,3,c;begins\n", Record(4, 9, 3000, "begins", begins=True)),
        (b"4,9,3,+;goes on\n", Record(4, 9, 3000, "goes on", goes_on=True)),
        (b"4,9,3,-;\n", Record(4, 9, 3000, "")),
        (b"no record\n", None),
        (b"4,9;short\n", None),
        (b"x,9,3,-;no number\n", None),
        (b"", None),
    ],
)
def test_records(data: bytes, record: Record | None) -> None:
    assert parse_record(data) == record


def piece(seq: int, text: str, flags: str = "-") -> Record:
    return Record(4, seq, seq, text, "c" in flags, "+" in flags)


def test_pieces_of_a_line_are_joined() -> None:
    joiner = Joiner()
    said = [
        joiner.add(one)
        for one in (
            piece(1, "a", "c"),
            piece(2, "b", "+"),
            piece(3, "c", "+"),
            piece(4, "d"),
            piece(5, "e", "+"),
        )
    ]
    # a piece whose beginning was not seen stands for itself
    assert [[one.text for one in batch] for batch in said] == [[], [], [], ["abc", "d"], ["e"]]
    joiner.add(piece(6, "f", "c"))
    assert [one.text for one in joiner.flush()] == ["f"]
    assert joiner.flush() == []


def test_gaps_are_counted_once() -> None:
    gaps = Gaps()
    assert [gaps.lost(n) for n in (5, 6, 9, 9, 6, 10, 12)] == [0, 0, 2, 0, 0, 0, 1]


def test_what_comes_a_little_late_is_no_gap() -> None:
    gaps = Gaps(late=2)
    assert [gaps.lost(n) for n in (1, 3, 2, 4)] == [0, 0, 0, 0]
    assert [gaps.lost(n) for n in (7, 8, 9)] == [0, 0, 2]  # 5 and 6 never came
    assert gaps.lost(10) == 0


class Device:
    """Stands for /dev/kmsg: a record a read, an error where an errno is, then nothing yet."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *records: bytes | int) -> None:
        self.records = list(records)
        monkeypatch.setattr(os, "read", self.read)

    def read(self, fd: int, size: int) -> bytes:
        assert size >= 8192
        if not self.records:
            raise BlockingIOError
        record = self.records.pop(0)
        if isinstance(record, int):
            raise OSError(record, os.strerror(record))
        return record


def test_overwritten_records_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    Device(monkeypatch, b"6,1,1,-;a\n", errno.EPIPE, b"6,24,2,-;b\n")
    events = KmsgCollector(Path("/dev/null")).sample()
    assert [(e.where, e.count) for e in events if isinstance(e, Dropped)] == [("kernel log", 22)]
    assert [e.text for e in events if isinstance(e, Log)] == ["a", "b"]


def test_xids_are_told_with_their_device(monkeypatch: pytest.MonkeyPatch) -> None:
    Device(
        monkeypatch,
        b"3,1,5,-;FGPU: Xid (PCI:0000:02:00): 31, pid=8, name=a, Ch 00000001, MMU Fault: x\n",
        b"3,2,6,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=9, name=b, GPU has fallen off the bus.\n",
        b"6,3,7,-;usb 1-1: new device\n",
    )
    events = KmsgCollector(Path("/dev/null")).sample()
    told = [(e.ts, e.level, e.xid, e.pid, e.device) for e in events if isinstance(e, Log)]
    assert told == [
        (5000, 3, 31, 8, "/dev/fakegpu1"),
        (6000, 3, 79, 9, ""),
        (7000, 6, None, None, ""),
    ]


def test_a_log_that_can_not_be_read_says_why_once(tmp_path: Path) -> None:
    collector = KmsgCollector(tmp_path / "kmsg")
    found = collector.probe()
    assert not found.ready
    assert "No such file" in found.why
    assert found.remedy
    assert collector.sample() == []
    (tmp_path / "kmsg").touch()
    assert KmsgCollector(tmp_path / "kmsg").probe().ready
    assert collector.sample() == []  # decided: the capability says why


@pytest.mark.root
def test_the_kernels_own_log_live() -> None:
    collector = KmsgCollector()
    if not collector.probe().ready:
        pytest.skip(collector.probe().why)
    assert collector.sample() == []  # from now on
    line = f"glassstack test {os.getpid()}: FGPU: Xid (PCI:0000:01:00): 32, pid=7, name=x, Ch 00000001, y"
    before = time.monotonic_ns()
    with open("/dev/kmsg", "w") as log:
        log.write(f"<3>{line}\n")
    (event,) = [e for e in eventually(collector.sample) if isinstance(e, Log) and str(os.getpid()) in e.text]
    assert (event.text, event.level, event.xid, event.device) == (line, 3, 32, "/dev/fakegpu0")
    assert abs(event.ts - before) < 5_000_000_000, "the log's clock is not the monotonic one"


@pytest.mark.root
def test_the_past_on_request() -> None:
    collector = KmsgCollector(past=True)
    if not collector.probe().ready:
        pytest.skip(collector.probe().why)
    events = collector.sample()
    assert any(isinstance(event, Log) for event in events)
    assert not any(isinstance(event, Dropped) for event in events)
