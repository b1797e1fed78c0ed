"""The wire between tracer and front end: frames, partial reads, lost ends, slow readers."""

from __future__ import annotations

import os
import threading

import pytest

from glassstack.collectors.wire import WireError, WireReader, WireWriter
from glassstack.model.codec import decode_batch
from glassstack.model.events import Dropped, Event
from glassstack.model.values import Source


def batch(count: int, first: int = 0) -> list[Event]:
    return [Dropped(n, Source.SELF, "somewhere", n) for n in range(first, first + count)]


def ends() -> tuple[WireReader[Event], WireWriter[Event]]:
    reading, writing = os.pipe()
    return WireReader(reading, decode_batch), WireWriter(writing)


def drain(reader: WireReader[Event]) -> list[Event]:
    events: list[Event] = []
    while (got := reader.read(10)) is not None:
        events += got
    return events


def test_batches_arrive_whole_and_in_order() -> None:
    reader, writer = ends()
    writer.write(batch(3))
    writer.write([])
    writer.write(batch(4, 3))
    writer.close()
    assert drain(reader) == batch(7)
    assert reader.read(0) is None


def test_nothing_yet_is_not_the_end() -> None:
    reader, writer = ends()
    assert reader.read(0) == []
    writer.close()
    assert reader.read(10) is None


def test_a_batch_larger_than_the_pipe() -> None:
    reader, writer = ends()
    large = batch(200_000)

    def send() -> None:
        writer.write(large)
        writer.close()

    thread = threading.Thread(target=send)
    thread.start()
    assert drain(reader) == large
    thread.join()


def test_frames_in_pieces() -> None:
    reading, writing = os.pipe()
    _, copy = os.pipe()
    source, target = os.pipe()
    WireWriter[Event](target).write(batch(2))
    data = os.read(source, 4096)
    reader = WireReader(reading, decode_batch)
    events: list[Event] = []
    for byte in data:
        assert not events
        os.write(writing, bytes([byte]))
        got = reader.read(10)
        assert got is not None
        events += got
    assert events == batch(2)
    for fd in (writing, copy, source):
        os.close(fd)


def test_lost_reader_is_noticed_and_harmless() -> None:
    reader, writer = ends()
    assert writer.check()
    reader.close()
    assert not writer.check()
    writer.write(batch(1))
    writer.close()
    writer.close()


def test_waiting_for_a_reader_that_never_reads_can_be_given_up() -> None:
    reading, writing = os.pipe()
    writer = WireWriter[Event](writing, give_up=lambda: True)
    writer.write(batch(500_000))
    assert writer.broken
    os.close(reading)


@pytest.mark.parametrize("data", [b"\x02\0\0\0\xc1\xc1", b"\xff\xff\xff\xff"])
def test_anything_else_is_refused(data: bytes) -> None:
    reading, writing = os.pipe()
    os.write(writing, data)
    with pytest.raises(WireError):
        WireReader(reading, decode_batch).read(1)
    os.close(writing)
