"""The process list: both PID views, cgroup, container, and the device each one holds.

Owns the once-a-second look. What changes with every look comes from
/proc/PID/stat in one read (psutil takes ten times as long for 500 processes);
what rarely changes comes from psutil, once per process.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

import psutil

from glassstack.collectors.holders import HolderCollector
from glassstack.collectors.identity import Identities, Identity, Stat, pids, read_stat
from glassstack.model.entities import Capability, ProcessInfo
from glassstack.model.events import Event, Holders, Processes
from glassstack.model.values import Source

_HOLDERS_NS = 5_000_000_000
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")


class _Spent(NamedTuple):
    start: int
    cpu: int
    at: float


class ProcessCollector:
    """Lists processes.

    Args:
        kernel_threads: list the kernel's own threads too.
        holders: whose looks tell the device of each process; shared, they cost nothing more.
    """

    name = "processes"

    def __init__(
        self,
        proc: Path = Path("/proc"),
        kernel_threads: bool = False,
        holders: HolderCollector | None = None,
        period: float = 1.0,
    ) -> None:
        self.period = period
        self._proc = str(proc)
        self._kernel_threads = kernel_threads
        self._identities = Identities(proc)
        self._holders = holders or HolderCollector(proc, Identities(proc))
        self._seen: Holders | None = None
        self._held: dict[int, str] = {}
        self._spent: dict[int, _Spent] = {}

    def probe(self) -> Capability:
        """Ready where /proc is mounted."""
        ready = os.path.exists(f"{self._proc}/stat")
        return Capability(
            self.name, ready, "" if ready else "no /proc", "" if ready else "mount -t proc proc /proc"
        )

    def sample(self) -> list[Event]:
        """One Processes event."""
        return [self.look()]

    def look(self) -> Processes:
        """All processes now, by pid. ``cpu`` is since the last look, at the first since its start."""
        alive = pids(self._proc)
        self._refresh_held()
        self._identities.begin(alive)
        spent: dict[int, _Spent] = {}
        found = []
        for pid in alive:
            try:
                stat = read_stat(self._proc, pid)
                if stat.kernel_thread and not self._kernel_threads:
                    continue
                found.append(self._info(pid, stat, self._identities.of(pid, stat), spent))
            except (OSError, ValueError, psutil.Error):
                continue  # it ended meanwhile
        self._spent = spent
        return Processes(time.monotonic_ns(), Source.POLL, tuple(found))

    def _info(self, pid: int, stat: Stat, who: Identity, spent: dict[int, _Spent]) -> ProcessInfo:
        spent[pid] = _Spent(stat.start, stat.cpu, time.monotonic())
        return ProcessInfo(
            pid=pid,
            ppid=stat.ppid,
            ns_pids=who.ns_pids,
            name=stat.name,
            command=who.command,
            user=who.user,
            state=stat.state,
            threads=stat.threads,
            rss=stat.rss * _PAGE,
            cpu=self._cpu(pid, spent[pid], who.started),
            started=who.started,
            cgroup=who.cgroup,
            container=who.container,
            gpu=self._held.get(pid, ""),
        )

    def _cpu(self, pid: int, now: _Spent, started: float) -> float:
        last = self._spent.get(pid)
        if last and last.start == now.start:
            ticks, seconds = now.cpu - last.cpu, now.at - last.at
        else:
            ticks, seconds = now.cpu, time.time() - started
        return max(0.0, 100.0 * ticks / _TICKS / seconds) if seconds > 0 else 0.0

    def _refresh_held(self) -> None:
        """Looking through all descriptors costs more than the list itself: done less often."""
        latest = self._holders.latest
        if latest is None or time.monotonic_ns() - latest.ts > _HOLDERS_NS:
            latest = self._holders.look()
        if latest is self._seen:
            return
        self._seen = latest
        held: dict[int, set[str]] = {}
        for holder in latest.holders:
            held.setdefault(holder.pid, set()).add(holder.device)
        self._held = {pid: " ".join(sorted(devices, key=_gpus_first)) for pid, devices in held.items()}


def _gpus_first(device: str) -> tuple[bool, str]:
    """Order of device nodes: those with a number, then control nodes."""
    return not device[-1:].isdigit(), device
