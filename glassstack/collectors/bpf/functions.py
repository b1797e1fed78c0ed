"""Uprobes on the functions of UMD and runtime: found in the maps of processes, counted in the kernel.

A counted call costs its program some microseconds (``cost_ns`` is measured),
so they are set only where functions are asked for, and taken away for good
where calls are so frequent that counting them would slow a program down.

A library is probed once, by its file: whoever has it mapped is seen from then
on, and a process is told from another by its pid.
"""

import ctypes
import os
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from glassstack.collectors.bpf import launches
from glassstack.collectors.bpf.calls import stripped
from glassstack.collectors.bpf.loading import TRACEFS, compile_files
from glassstack.collectors.libraries import library
from glassstack.model.entities import Tally

FUNCTIONS: dict[str, tuple[str, ...]] = {
    "umd": (
        "LaunchKernel", "MemcpyHtoD", "MemcpyDtoH", "MemcpyDtoD", "MemsetD32", "CtxSynchronize",
        "StreamSynchronize", "StreamQuery", "MemAlloc", "MemFree",
    ),
    "runtime": (
        "LaunchKernel", "Memcpy", "DeviceSynchronize", "StreamSynchronize", "StreamQuery", "Malloc", "Free",
    ),
}  # fmt: skip
"""What is counted, by kind of library, without the prefix."""
_PREFIXES = {"umd": ("fcu", "cu"), "runtime": ("fcuda", "cuda")}
_SUFFIXES = ("", "_v2")
LAUNCHES = frozenset({"fcuLaunchKernel", "cuLaunchKernel"})
"""The functions that every launch goes through."""
_SLOTS = 24
_FIRST = tuple(("umd", name) for name in sorted(LAUNCHES))
"""These have the first numbers: uprobes.bpf.c follows them."""
_TRIALS = 500
LIMIT = 0.05
"""What counting may cost all programs together, as a share of one processor."""


class _File(NamedTuple):
    """A library by what makes it the same file."""

    device: str
    inode: int


class Functions:
    """The probes.

    Args:
        libraries: files to probe at once.
        follow: launches are followed too.

    Attributes:
        missing: why there is none, "" when there are.
        cost_ns: what a counted call costs its program.

    Raises:
        BpfError: the program can't be loaded.
    """

    def __init__(self, libraries: Iterable[str] = (), follow: bool = False) -> None:
        self.missing = "no process has a GPU library mapped"
        self._bpf = compile_files(("uprobes.bpf.c",), _defines(follow))
        self._slots: dict[tuple[str, str], int] = {key: number for number, key in enumerate(_FIRST)}
        """(kind, name) → number of its probe."""
        self.cost_ns = self._measure()
        self._told_lost = 0
        self._stopped = False
        self._looked = (time.monotonic_ns(), 0)
        self._seen: set[_File] = set()
        for path in libraries:
            kind = library(path)
            if kind is not None and os.path.exists(path):
                found = os.stat(path)
                device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
                self._attach(_File(device, found.st_ino), kind.what, path)

    @property
    def tables(self) -> Any:
        """The BPF object."""
        return self._bpf

    def name_of(self, number: int) -> str:
        """The function of a number."""
        return next((name for (_, name), slot in self._slots.items() if slot == number), "")

    def _measure(self) -> int:
        """ns that the probes add to a call, tried on a function of our own that nothing else calls."""
        libc = ctypes.CDLL(None)
        path, name = "c", "getdomainname"
        call: Callable[[], int] = lambda: libc.getdomainname(None, 0)  # noqa: E731
        free = _best(call)
        try:
            self._bpf.attach_uprobe(name=path, sym=name, fn_name=f"enter_{_SLOTS - 1}", pid=os.getpid())
            self._bpf.attach_uretprobe(name=path, sym=name, fn_name=f"leave_{_SLOTS - 1}", pid=os.getpid())
        except Exception:  # bcc raises nothing more exact; then it is not known
            return 0
        probed = _best(call)
        self._bpf.detach_uprobe(name=path, sym=name, pid=os.getpid())
        self._bpf.detach_uretprobe(name=path, sym=name, pid=os.getpid())
        self.forget(os.getpid())
        return max(0, probed - free)

    def look(self, pids: Iterable[int]) -> None:
        """Probes libraries that these processes have mapped and that are not probed yet; stops at LIMIT."""
        if not self._stopped:
            self._hold_limit()
        for pid in () if self._stopped else pids:
            for file, kind, path in _libraries(pid):
                if file not in self._seen:
                    self._attach(file, kind, f"/proc/{pid}/root{path}")

    def _hold_limit(self) -> None:
        then, before = self._looked
        now, calls = time.monotonic_ns(), sum(tally.calls for tally in self._bpf["tallies"].values())
        self._looked = (now, calls)
        rate = (calls - before) * 1e9 / max(1, now - then)
        cost = rate * self.cost_ns / 1e9
        if cost <= LIMIT:
            return
        self._stopped = True
        for event in list(self._bpf.uprobe_fds):
            self._bpf.detach_uprobe_event(event)
        self.missing = f"stopped: counting {rate:,.0f} calls a second costs {cost:.0%} of a processor"

    def _attach(self, file: _File, kind: str, path: str) -> None:
        self._seen.add(file)
        if kind not in FUNCTIONS:
            return
        for stem in FUNCTIONS[kind]:
            for name in (f"{prefix}{stem}{suffix}" for prefix in _PREFIXES[kind] for suffix in _SUFFIXES):
                self._probe(kind, name, path)

    def _probe(self, kind: str, name: str, path: str) -> None:
        slot = self._slots.get((kind, name), len(self._slots))
        if slot >= _SLOTS - 1:  # the last one is for _measure
            return
        try:
            self._bpf.attach_uprobe(name=path, sym=name, fn_name=f"enter_{slot}")
            self._bpf.attach_uretprobe(name=path, sym=name, fn_name=f"leave_{slot}")
        except Exception as error:  # bcc raises nothing more exact
            if "could not determine address" not in str(error):
                self.missing = f"{os.path.basename(path)}: {name} can't be probed: {error}"
            return
        self._slots[kind, name] = slot
        self.missing = ""

    def tallies(self) -> dict[int, list[Tally]]:
        """What was counted, by process."""
        names = {slot: key for key, slot in self._slots.items()}
        found: dict[int, list[Tally]] = {}
        for what, tally in self._bpf["tallies"].items():
            kind, name = names[what.function]
            found.setdefault(what.pid, []).append(
                Tally(
                    name,
                    kind,
                    tally.calls,
                    timed=tally.timed,
                    total_ns=tally.total_ns,
                    max_ns=tally.max_ns,
                    buckets=stripped(tally.buckets),
                )
            )
        return found

    def forget(self, pid: int) -> None:
        """Drops what was counted of a process that has ended."""
        table = self._bpf["tallies"]
        for key in [key for key in table if key.pid == pid]:
            del table[key]

    def lost(self) -> int:
        """Calls that could not be counted since this was last asked."""
        total = int(self._bpf["lost"].sum(ctypes.c_int(0)).value)
        new, self._told_lost = total - self._told_lost, total
        return new


def _defines(follow: bool) -> dict[str, int]:
    driver = any((place / "events/fakegpu/fakegpu_fault").is_dir() for place in TRACEFS)
    return {
        "THREADS": 16384,
        "PAGES": launches.RING_PAGES,
        "DRIVER": int(driver and follow),
        "LAUNCHES": len(_FIRST) if follow else 0,
    }


def _best(call: Callable[[], int]) -> int:
    """ns of a call, the median of many."""
    took = []
    for _ in range(_TRIALS):
        began = time.monotonic_ns()
        call()
        took.append(time.monotonic_ns() - began)
    return sorted(took)[_TRIALS // 2]


def _libraries(pid: int) -> list[tuple[_File, str, str]]:
    """GPU libraries mapped by a process: file, kind, path as the process sees it."""
    found: dict[_File, tuple[str, str]] = {}
    try:
        with open(f"/proc/{pid}/maps", errors="surrogateescape") as maps:
            for line in maps:
                words = line.rstrip("\n").split(maxsplit=5)
                kind = library(words[5]) if len(words) > 5 else None
                if kind is not None:
                    found[_File(words[3], int(words[4]))] = (kind.what, words[5])
    except OSError:
        return []
    return [(file, kind, path) for file, (kind, path) in found.items()]
