"""The TUI on made-up events at a chosen rate: what the screen measures run in a terminal.

    python feed.py RATE COUNTER [LIMIT]

RATE is calls a second (0: a stack at rest), LIMIT ends the flow after so many.
As in real use, another process makes and encodes the events and a pipe brings
them, so that the TUI pays for decoding, not for making. COUNTER is a file
whose first 8 bytes say how many calls the TUI has taken.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time

from glassstack.collectors.wire import WireReader, WireWriter
from glassstack.model.codec import decode_batch
from glassstack.model.entities import Channel, Mapping
from glassstack.model.events import Channels, Event, Mappings, Process, Syscall
from glassstack.model.values import Source

PID, DEVICE = 4242, "/dev/fakegpu0"
BEATS = 50  # times a second that events are made
BATCH = 1000  # calls in one message, at most
SUBMIT, WAIT = 0xC028FA08, 0xC018FA09


def call(number: int, now: int) -> Syscall:
    """One of a steady loop: SUBMIT, WAIT, SUBMIT, WAIT …"""
    submit = number % 2 == 0
    return Syscall(
        ts=now,
        source=Source.DEVICE,
        pid=PID,
        tid=PID,
        syscall="ioctl",
        device=DEVICE,
        name="SUBMIT" if submit else "WAIT",
        fields={"channel": 1, "bytes": 64} if submit else {"channel": 1, "seqno": number // 2},
        ret=0,
        errno=None,
        dur_ns=13_000 + number % 977,
        fd=5,
        raw=SUBMIT if submit else WAIT,
    )


def stack(now: int) -> list[Event]:
    """A process with its mappings, as things are before anything happens."""
    pages = ((0x7F0000000000, 4096, 0, "doorbell"), (0x7F0000002000, 4096, 4096, "fence"))
    mappings = tuple(
        Mapping(start, start + size, "rw-s", offset, "/memfd:fakegpu0 (deleted)", what, DEVICE)
        for start, size, offset, what in pages
    )
    return [
        Process(now, Source.PTRACE, PID, PID, "start", command="./train --steps 23"),
        Mappings(now, Source.POLL, PID, mappings),
        channels(now, 0),
    ]


def channels(now: int, jobs: int) -> Channels:
    """Progress of the one channel."""
    wptr = jobs * 64 % (1 << 32)
    one = Channel(PID, DEVICE, 1, 1, wptr, wptr, jobs, jobs, jobs, now, 0, 65536)
    return Channels(now, Source.POLL, PID, (one,))


def make(rate: int, limit: int) -> None:
    """Writes events to stdout, in batches, on time; as fast as they are taken when they are not."""
    writer: WireWriter[Event] = WireWriter(sys.stdout.fileno())
    writer.write(stack(time.monotonic_ns()))
    made, moved, began = 0, 0, time.monotonic()
    while writer.check():
        time.sleep(1 / BEATS)
        due = min(int((time.monotonic() - began) * rate), made + max(1, rate // 4), limit or sys.maxsize)
        now = time.monotonic_ns()
        for start in range(made, due, BATCH):
            batch: list[Event] = [call(number, now) for number in range(start, min(start + BATCH, due))]
            writer.write(batch)
        made = max(made, due)
        if made and now - moved > 100_000_000:
            writer.write([channels(now, made // 2)])
            moved = now


class CountingFeed:
    """A feed that says in a file how many calls went through it."""

    title = "bench"

    def __init__(self, source: int, counter: int) -> None:
        self._reader = WireReader(source, decode_batch)
        self._counter = counter
        self._calls = 0

    def read(self, timeout: float) -> list[Event] | None:
        """See Feed."""
        batch = self._reader.read(timeout)
        if batch:
            self._calls += sum(type(event) is Syscall for event in batch)
            os.pwrite(self._counter, struct.pack("<Q", self._calls), 0)
        return batch

    def close(self) -> None:
        """See Feed."""
        self._reader.close()


def show(rate: int, counter: str, limit: int) -> None:
    """Runs the TUI until it is told to quit."""
    from glassstack.tui.app import GlassApp

    command = [sys.executable, __file__, "make", str(rate), str(limit)]
    with open(counter, "r+b") as file, subprocess.Popen(command, stdout=subprocess.PIPE) as source:
        try:
            assert source.stdout
            feed = CountingFeed(os.dup(source.stdout.fileno()), file.fileno())
            source.stdout.close()
            GlassApp(feed).run()
            feed.close()
        finally:
            source.kill()


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(int(sys.argv[2]), int(sys.argv[3]))
    else:
        show(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0)
