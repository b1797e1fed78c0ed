"""The BPF object of calls.bpf.c in the hands of Python: its parameters, its ring buffer and its counts."""

import ctypes
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from glassstack.collectors.bpf import records
from glassstack.collectors.bpf.loading import BpfError, compile_files
from glassstack.collectors.bpf.options import Options
from glassstack.collectors.bpf.ring import RingReader
from glassstack.collectors.tracer.calls import fields_of
from glassstack.decoders import registry
from glassstack.decoders.fakegpu import BY_NAME
from glassstack.decoders.fakegpu_uapi import IOC_TYPE
from glassstack.decoders.syscalls import NUMBERS, OPENS
from glassstack.model.entities import InFlight, Tally

_SOURCES = ("calls_tables.bpf.c", "calls_files.bpf.c", "calls_report.bpf.c", "calls.bpf.c")
_PIDS, _CGROUP, _SYSTEM = 0, 1, 2
_FOLLOWED = (
    "ioctl", "mmap", "munmap", "close", "close_range", "dup", "dup2", "dup3", "fcntl",
    "open", "creat", "openat", "openat2",
)  # fmt: skip
_BIRTHS = {"clone": 56, "fork": 57, "vfork": 58, "clone3": 435}
_CHUNK = 4096 * records.STRIDE
"""Of records in one message: some of it in every read of the wire."""
SUBMIT = BY_NAME["SUBMIT"].request
_LONG_NS = 100_000_000

PidTallies = dict[int, list[Tally]]


def cgroup_place(folder: Path) -> tuple[int, int]:
    """Id and depth of a cgroup v2 folder. Raises BpfError."""
    try:
        number = folder.stat().st_ino
    except OSError as error:
        raise BpfError(f"{folder}: {error.strerror}", "name a folder of the cgroup v2 mount") from error
    if not (folder / "cgroup.procs").is_file() or not (folder / "cgroup.controllers").is_file():
        raise BpfError(f"{folder} is no cgroup v2", "name a folder of the cgroup v2 mount")
    depth, above = 0, folder.resolve()
    while (above.parent / "cgroup.procs").is_file():
        depth, above = depth + 1, above.parent
    return number, depth


def defines(options: Options) -> dict[str, int]:
    """The parameters that calls.bpf.c names. Raises BpfError."""
    scope, number, level = _PIDS, 0, 0
    if options.system:
        scope = _SYSTEM
    elif options.cgroup:
        scope = _CGROUP
        number, level = cgroup_place(Path(options.cgroup))
    threads = 4096 if scope == _PIDS else 16384
    return {
        "SCOPE": scope,
        "CGROUP_ID": number,
        "CGROUP_LEVEL": level,
        "FOLLOW": int(options.follow or bool(options.command)),
        "ANY_NODE": int(options.any_node),
        "COUNT": int(options.count),
        "STACK": int(options.stack),
        "PAGES": (options.ring_mib << 20) // 4096,
        "THREADS": threads,
        "PROCESSES": 4096,
        "IOC_TYPE": IOC_TYPE,
        "SUBMIT": SUBMIT,
        **{f"NR_{name}": NUMBERS["x86_64"][name] for name in _FOLLOWED},
        **{f"NR_{name}": number for name, number in _BIRTHS.items()},
    }


class Calls:
    """Loads the program; from then on it sees what ``targets`` and the scope say.

    Raises:
        BpfError: it can't be loaded.
    """

    def __init__(self, options: Options) -> None:
        self.tables = compile_files(_SOURCES, defines(options))
        self._lost = self.tables["lost"]
        self._told_lost = 0
        self._ring = None
        if not options.count:
            ring: Any = self.tables["ring"]
            self._ring = RingReader(ring.map_fd, options.ring_mib << 20, records.STRIDE)
        self._ids = dict(records.NODES)

    def target(self, pid: int) -> None:
        """Has a process watched."""
        self.tables["targets"][ctypes.c_uint32(pid)] = ctypes.c_uint32(0)

    def read(self) -> bytearray:
        """The next records, as many as can be handled at once."""
        return self._ring.read(_CHUNK) if self._ring else bytearray()

    def lost(self) -> int:
        """Records that found no room since the last time this was asked."""
        total = int(self._lost.sum(ctypes.c_int(0)).value)
        new, self._told_lost = total - self._told_lost, total
        return new

    def in_flight(self, nodes: dict[int, str]) -> tuple[InFlight, ...]:
        """Calls that have been going on for 100 ms; those that a seccomp listener answers are not seen."""
        now = time.monotonic_ns()
        found = []
        for tid, entry in self.tables["running"].items():
            if entry.active and now - entry.ts > _LONG_NS:
                call = running(tid.value, entry, nodes)
                if call is not None:
                    found.append(call)
        return tuple(found)

    def forget(self, pid: int) -> None:
        """Drops what was counted of a process that has ended."""
        table = self.tables["tallies"]
        for key in [key for key in table if key.pid == pid]:
            del table[key]

    def tallies(self, nodes: dict[int, str]) -> PidTallies:
        """What was counted, by process."""
        found: PidTallies = {}
        for what, tally in self.tables["tallies"].items():
            device = nodes.get(what.device, "")
            name = records.name_of(what.nr)
            if name == "ioctl":
                name = registry.decode_ioctl(device, what.request, b"", b"").name
            elif name in OPENS:
                name = "open"
            found.setdefault(what.pid, []).append(
                Tally(
                    name,
                    "syscall",
                    tally.calls,
                    tally.errors,
                    tally.timed,
                    tally.total_ns,
                    tally.max_ns,
                    stripped(tally.buckets),
                    device,
                )
            )
        return found

    def close(self) -> None:
        """Detaches and frees it."""
        if self._ring:
            self._ring.close()
        self.tables.cleanup()


def stripped(buckets: Iterable[int]) -> tuple[int, ...]:
    """Buckets without the empty ones at the end."""
    counts = list(buckets)
    while counts and not counts[-1]:
        counts.pop()
    return tuple(counts)


def running(tid: int, entry: Any, nodes: dict[int, str]) -> InFlight | None:
    """A call that was entered; ``None`` for one that concerns no device, as far as is known yet."""
    name, device = records.name_of(entry.nr), nodes.get(entry.device, "")
    if not device or name in OPENS:
        return None
    args = (*entry.args, 0, 0, 0)
    before = bytes(entry.before[: entry.before_size]) if name == "ioctl" else None
    label, fields = fields_of(name, device, args, before, b"", b"", -1)
    return InFlight(entry.pid, tid, entry.ts, name, device, label, fields)
