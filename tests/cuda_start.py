"""The start of a CUDA program, reconstructed: not a recording of one.

The order of the calls is that of public strace logs and sources; numbers,
sizes and offsets are those of driver 550, as bytes, which the real decoder
reads. ``python -m tests.cuda_start FILE.gls`` writes it as a recording.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from glassstack.decoders import registry
from glassstack.decoders.nvidia.objects import Objects
from glassstack.model.events import Event, Process, Syscall
from glassstack.model.values import Scalar, Source
from glassstack.store.recording import Writer
from tests import nvidia
from tests.nvidia import CTL, GPU, UVM, request

TITLE = "a CUDA start, reconstructed for driver 550.54.14"
VERSION = "550.54.14"
CLIENT, DEVICE, SUBDEVICE, SPACE = 0xC1D00001, 0x5C000001, 0x5C000002, 0x5C000003
PID, STEP = 4242, 50_000
RM_CONTROL, RM_ALLOC = 0x2A, 0x2B


class Start:
    """Calls one after the other."""

    def __init__(self) -> None:
        self.events: list[Event] = [Process(0, Source.FILE, PID, PID, "start", command="./vectoradd")]
        self._objects = Objects()
        self._handle = 0x5C000010

    def _add(
        self,
        syscall: str,
        device: str,
        name: str,
        fields: dict[str, Scalar],
        ret: int,
        fd: int,
        raw: int | None = None,
    ) -> None:
        now = STEP * len(self.events)
        call = Syscall(
            now, Source.FILE, PID, PID, syscall, device, name, fields, ret, None, 4_000, fd, raw
        )  # fmt: skip
        self.events.append(self._objects.see(call))

    def open(self, device: str, fd: int) -> None:
        """A node is opened."""
        self._add("openat", device, "open", {"path": device, "flags": "O_RDWR|O_CLOEXEC"}, fd, fd)

    def ioctl(
        self, device: str, fd: int, number: int, before: bytes, after: bytes = b"", payload: bytes = b""
    ) -> None:
        """A call whose answer is ``after``, or what was sent."""
        decoded = registry.decode_ioctl(device, number, before, after or before, payload)
        self._add("ioctl", device, decoded.name, decoded.fields, 0, fd, number)

    def control(self, cmd: int, target: int = SUBDEVICE, fd: int = 8) -> None:
        """RM_CONTROL."""
        self.ioctl(CTL, fd, request(RM_CONTROL, 32), nvidia.control(CLIENT, target, cmd))

    def alloc(self, kind: int, parent: int, new: int = 0, payload: bytes = b"") -> int:
        """RM_ALLOC; gives the handle."""
        if not new:
            self._handle += 1
            new = self._handle
        root = 0 if new == CLIENT else CLIENT
        before = nvidia.alloc(48, root, parent, new, kind, params=0x7FFD_0000 if payload else 0)
        self.ioctl(CTL, 8, request(RM_ALLOC, 48), before, before, payload)
        return new

    def uvm(self, number: int, size: int) -> None:
        """A call of the memory manager that it answers with OK."""
        self.ioctl(UVM, 9, number, bytes(size), bytes(size))

    def mmap(self, device: str, fd: int, length: int) -> None:
        """A mapping."""
        shown: dict[str, Scalar] = {
            "address": 0,
            "length": length,
            "prot": "PROT_READ|PROT_WRITE",
            "flags": "MAP_SHARED",
            "offset": 0,
        }
        self._add("mmap", device, "mmap", shown, 0x7F5E_B38B_2000 + len(self.events) * 0x100000, fd)


def _connect(start: Start) -> None:
    start.open(CTL, 8)
    text = VERSION.encode()
    start.ioctl(CTL, 8, request(0xD2, 72), nvidia.check_version(text), nvidia.check_version(text, 1))
    start.ioctl(CTL, 8, request(0xD6, 8), bytes(8), (2 << 30).to_bytes(8, "little"))
    card = nvidia.put(72, (0, "B", 1), (8, "B", 7), (12, "H", 0x10DE), (14, "H", 0x2330), (16, "I", 0x700))
    start.ioctl(CTL, 8, request(0xC8, 72 * 32), bytes(72 * 32), card + bytes(72 * 31))
    start.alloc(0x41, 0, CLIENT)
    start.control(0x101, CLIENT)
    start.control(0x214, CLIENT)
    start.control(0x202, CLIENT)
    start.open(UVM, 9)
    start.uvm(0x30000001, 16)
    start.uvm(75, 8)
    start.uvm(39, 8)


def _gpu(start: Start) -> None:
    start.open(GPU, 10)
    start.ioctl(GPU, 10, request(0xC9, 4), (8).to_bytes(4, "little"))
    start.control(0x215, CLIENT)
    start.alloc(0x80, CLIENT, DEVICE, bytes(56))
    start.alloc(0x2080, DEVICE, SUBDEVICE, bytes(4))
    for cmd in (0x20800110, 0x2080014A, 0x20801303, 0x20801701, 0x20801201, 0x20800170, 0x20800131):
        start.control(cmd)
    start.control(0x800292, DEVICE)
    start.uvm(37, 40)
    start.alloc(0x90F1, DEVICE, SPACE)
    start.uvm(25, 32)


def _channel(start: Start) -> None:
    usermode = start.alloc(0xC661, SUBDEVICE)
    start.open(CTL, 15)
    start.ioctl(CTL, 8, request(0x4E, 56), nvidia.map_memory(CLIENT, usermode, 15, 65536))
    start.mmap(CTL, 15, 65536)
    memory = start.alloc(0x40, DEVICE, 0, nvidia.put(128, (64, "Q", 2 << 20)))
    start.open(CTL, 16)
    start.ioctl(CTL, 8, request(0x4E, 56), nvidia.map_memory(CLIENT, memory, 16, 2 << 20))
    start.mmap(CTL, 16, 2 << 20)
    group = start.alloc(0xA06C, DEVICE, 0, bytes(20))
    start.alloc(0x9067, group, 0, bytes(12))
    channel = start.alloc(0xC86F, group, 0, nvidia.put(368, (16, "I", 1024), (128, "I", 1)))
    for engine in (0xCBC0, 0xC8B5):
        start.alloc(engine, channel)
    start.control(0x906F0101, channel)
    start.control(0xC36F0108, channel)
    start.control(0xA06C0101, group)
    start.uvm(27, 56)
    start.ioctl(CTL, 8, request(0xCE, 16), bytes(16))
    for number, size in ((73, 24), (33, 9264)):
        start.uvm(number, size)


def _end(start: Start, silence_ns: int = 250_000_000) -> None:
    late = [event.ts for event in start.events][-1] + silence_ns
    first = len(start.events)
    free = nvidia.put(16, (0, "I", CLIENT), (8, "I", CLIENT))
    start.ioctl(CTL, 8, request(0x29, 16), free)
    for fd, device in ((10, GPU), (9, UVM), (8, CTL)):
        start._add("close", device, "close", {}, 0, fd)
    for index in range(first, len(start.events)):
        moved = late + index * STEP
        start.events[index] = msgspec.structs.replace(start.events[index], ts=moved)


def events() -> list[Event]:
    """The whole start, and an end after a silence."""
    registry.use_driver(VERSION)
    try:
        start = Start()
        for part in (_connect, _gpu, _channel, _end):
            part(start)
    finally:
        registry.use_driver("")
    return start.events


def write(path: Path) -> None:
    """As a recording."""
    with Writer(path, TITLE) as writer:
        writer.write(events())


if __name__ == "__main__":
    write(Path(sys.argv[1]))
