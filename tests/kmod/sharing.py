"""A program whose contexts are held by several processes, in every way there is.

It opens the device twice, does one job in the first context and two in the
second, forks, and hands the first on to a third process, which closes the
descriptor and keeps the mappings. Prints one line of JSON and stays until its
stdin ends. Runs on the module and, under fakegpu-run, on the embedded device.
"""

import fcntl
import json
import mmap
import os
import socket
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from glassstack.decoders import fakegpu_uapi as uapi
from glassstack.decoders.fakegpu import IOCTLS
from glassstack.decoders.pages import decode_fences

NODE = "/dev/fakegpu0"
RING = 4096
DEADLINE_S = 20


def call(descriptor: int, name: str, *values: int) -> tuple[int, ...]:
    """An ioctl with these fields, zeros behind them; the fields as they come back."""
    one = next(ioctl for ioctl in IOCTLS if ioctl.name == name)
    layout = uapi.layout(one.struct)
    fields = list(layout.unpack(bytes(layout.size)))
    fields[: len(values)] = values
    buffer = bytearray(layout.pack(*fields))
    fcntl.ioctl(descriptor, one.request, buffer)
    return layout.unpack(buffer)


def maps(descriptor: int) -> list[mmap.mmap]:
    """Doorbell page, fence page, completion ring, ring of channel 0."""
    places = [(0, uapi.PAGE), (uapi.OFF_FENCE, uapi.PAGE)]
    places += [(uapi.OFF_COMPLETION, uapi.COMPLETION_SIZE), (uapi.OFF_RING, RING)]
    return [mmap.mmap(descriptor, size, offset=offset) for offset, size in places]


def work(jobs: int) -> tuple[int, list[mmap.mmap], int]:
    """A new context in which so many jobs have ended: descriptor, mappings, the driver's id."""
    descriptor = os.open(NODE, os.O_RDWR)
    call(descriptor, "CHANNEL_CREATE", 1, RING)
    mapped = maps(descriptor)
    doorbell, fence, _, ring = mapped
    packet = uapi.layout("packet_fence")
    for seqno in range(1, jobs + 1):
        ring[(seqno - 1) * packet.size : seqno * packet.size] = packet.pack(5, packet.size, 0, seqno)
    doorbell[:4] = struct.pack("=I", jobs * packet.size)
    end = time.monotonic() + DEADLINE_S
    while decode_fences(fence[:])[0].jobs < jobs:
        if time.monotonic() > end:
            raise SystemExit("the device does no work")
    return descriptor, mapped, call(descriptor, "CTX_INFO")[1]


def heir(channel: socket.socket) -> None:
    """Takes a descriptor, maps all of it and keeps no more than that."""
    _, (descriptor,), _, _ = socket.recv_fds(channel, 1, 1)
    kept = maps(descriptor)
    node = os.fstat(descriptor)
    for name in os.listdir("/proc/self/fd"):  # each mapping of Python's keeps a descriptor of its own
        try:
            if os.path.samestat(os.fstat(int(name)), node):
                os.close(int(name))
        except OSError:
            continue
    channel.sendall(b"1")
    channel.recv(1)
    del kept


def main() -> None:
    """As the module says."""
    here, there = socket.socketpair()
    taker = os.fork()
    if not taker:
        here.close()
        heir(there)
        os._exit(0)
    there.close()
    opened = [work(1), work(2)]
    end, keep = os.pipe()
    fork = os.fork()
    if not fork:
        here.close()
        os.close(keep)
        os.read(end, 1)
        os._exit(0)
    socket.send_fds(here, [b"1"], [opened[0][0]])
    here.recv(1)
    ids = [number for _, _, number in opened]
    print(json.dumps({"parent": os.getpid(), "fork": fork, "taker": taker, "contexts": ids}), flush=True)
    sys.stdin.read()
    here.close()
    os.close(keep)
    os.waitpid(taker, 0)
    os.waitpid(fork, 0)


if __name__ == "__main__":
    main()
