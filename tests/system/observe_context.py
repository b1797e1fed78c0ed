"""A program with one context of an embedded device, made by hand: the shared memory, without a device.

Run as a script it maps its pages like the UMD does, says "ready" and then does
what each line of its standard input asks for, answering "done". Uses nothing
of the code under test.
"""

from __future__ import annotations

import mmap
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

RING_SIZE = 4096
ENTRIES = 1023
LAYOUT = {"doorbell": (0, 4096), "fence": (0x1000, 4096), "completion": (0x10000, 65536)}
LAYOUT |= {"ring": (0x200000, RING_SIZE), "buffer": (0x10000000, 8192)}
FILL = struct.pack("<HHIIIQQ", 1, 32, 0, 3, 0xAB, 0, 64)


class Context:
    """The pages, and both sides that write them. Channel 1 has the ring."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("fakegpu0")
        os.ftruncate(self.fd, 1 << 29)
        self.maps = {name: mmap.mmap(self.fd, size, offset=offset) for name, (offset, size) in LAYOUT.items()}
        struct.pack_into("<II", self.maps["completion"], 0, ENTRIES, 64)
        self.wptr = self.jobs = 0

    def queue(self, jobs: int) -> None:
        """The program: packets, then the doorbell."""
        for number in range(jobs):
            for packet in (FILL, struct.pack("<HHIQ", 5, 16, 0, self.jobs + number + 1)):
                at = self.wptr % RING_SIZE
                if at + len(packet) > RING_SIZE:
                    self.maps["ring"][at:] = struct.pack("<HHI", 0, RING_SIZE - at, 0).ljust(
                        RING_SIZE - at, b"\0"
                    )
                    self.wptr += RING_SIZE - at
                    at = 0
                self.maps["ring"][at : at + len(packet)] = packet
                self.wptr += len(packet)
            struct.pack_into("<I", self.maps["doorbell"], 64, self.wptr % 2**32)

    def finish(self, jobs: int) -> None:
        """The device: everything queued is done, as so many jobs."""
        for _ in range(jobs):
            slot = 64 + self.jobs % ENTRIES * 64
            self.jobs += 1
            times = (self.jobs * 1000, self.jobs * 1000 + 100, self.jobs * 1000 + 350)
            self.maps["completion"][slot : slot + 64] = struct.pack(
                "<QQQQIIQ16x", self.jobs, *times, 1, 0, 64
            )
            struct.pack_into("<Q", self.maps["completion"], 8, self.jobs)
        fence = struct.pack(
            "<QIIQQQ", self.jobs, self.wptr % 2**32, 0, self.jobs, self.jobs, self.jobs * 1000
        )
        self.maps["fence"][64 : 64 + len(fence)] = fence

    def poison(self, xid: int) -> None:
        """The device: a fault."""
        struct.pack_into("<I", self.maps["fence"], 64 + 12, xid)

    def run(self, jobs: int) -> None:
        """Both sides, one job at a time."""
        for _ in range(jobs):
            self.queue(1)
            self.finish(1)

    def drop(self, _: int) -> None:
        """The program: closes the descriptor (and Python's own copies of it) and keeps the mappings."""
        for fd in map(int, os.listdir("/proc/self/fd")):
            if os.path.lexists(f"/proc/self/fd/{fd}") and "memfd" in os.readlink(f"/proc/self/fd/{fd}"):
                os.close(fd)

    def unmap(self, _: int) -> None:
        """The program: is done with the device, and goes on."""
        for mapping in self.maps.values():
            mapping.close()

    def secret(self, _: int) -> None:
        """The program: no one may look into it (what a setuid program looks like)."""
        import ctypes

        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)


class Program:
    """The running script, as a test sees it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = process.pid

    def ask(self, verb: str, number: int = 0) -> None:
        """Does one thing and waits for it to be done."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{verb} {number}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@contextmanager
def program() -> Iterator[Program]:
    """Starts the script; ends it afterwards."""
    command = (sys.executable, "-S", __file__)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield Program(process)
        finally:
            process.kill()


def main() -> None:
    """Serves until standard input ends."""
    context = Context()
    print("ready", flush=True)
    for line in sys.stdin:
        verb, number = line.split()
        getattr(context, verb)(int(number))
        print("done", flush=True)


if __name__ == "__main__":
    main()
