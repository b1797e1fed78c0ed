"""Rows of ``top``: rates between two looks at counts and channels, process by process. Pure."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from glassstack.format import units
from glassstack.format.text import plain
from glassstack.model.entities import Channel, Tally
from glassstack.model.events import Channels, Event, Tallies

HEADER = (
    "PID",
    "IOCTL/S",
    "ERR/S",
    "LAUNCH/S",
    "P50",
    "P99",
    "SYNC P99",
    "BELL/S",
    "JOB/S",
    "LAG",
    "DEVICE",
    "COMMAND",
)
NUMBERS = range(10)
_LAUNCHES = frozenset({"fcuLaunchKernel", "cuLaunchKernel"})
"""Every launch goes through the UMD's, so the runtime's would count twice."""
_SYNCS = frozenset({"fcuStreamSynchronize", "fcuCtxSynchronize", "cuStreamSynchronize", "cuCtxSynchronize"})
_NOT_CALLS = frozenset({"open", "close", "close_range", "mmap", "munmap", "dup", "dup2", "dup3", "fcntl"})
_ABSENT = "-"

Key = tuple[str, str, str]


class _Sum(NamedTuple):
    """Tallies of one kind, added up since the look before."""

    calls: int = 0
    errors: int = 0
    timed: int = 0
    max_ns: int = 0
    buckets: tuple[int, ...] = ()


class _Process:
    """What was seen of one process at the last two looks."""

    def __init__(self) -> None:
        self.counts: list[Tallies] = []
        self.channels: list[tuple[int, tuple[Channel, ...]]] = []

    def keep_two(self) -> None:
        self.counts = self.counts[-2:]
        self.channels = self.channels[-2:]


class Looks:
    """Remembers the looks; ``first`` are the channels before the counting began."""

    def __init__(self, first: Iterable[Event] = ()) -> None:
        self._processes: dict[int, _Process] = {}
        self._times = [0, 0]
        self.add(first)

    def add(self, events: Iterable[Event]) -> None:
        """Takes a look: of several counts of a process the newest one; who is in none of it has gone."""
        newest: dict[int, Tallies] = {}
        seen: dict[int, Channels] = {}
        for event in events:
            if isinstance(event, Tallies):
                newest[event.pid] = event
            elif isinstance(event, Channels):
                seen[event.pid] = event
        self._processes = {pid: self._processes.get(pid) or _Process() for pid in newest.keys() | seen.keys()}
        for pid, counts in newest.items():
            self._processes[pid].counts.append(counts)
        for pid, channels in seen.items():
            self._processes[pid].channels.append((channels.ts, channels.channels))
        self._times = [self._times[1], max((counts.ts for counts in newest.values()), default=0)]
        for process in self._processes.values():
            process.keep_two()

    def tallies(self) -> list[Tallies]:
        """The newest counts of each process."""
        return [process.counts[-1] for _, process in sorted(self._processes.items()) if process.counts]

    def rows(self) -> list[tuple[str, ...]]:
        """One row a process, the busiest first."""
        rows = [_row(pid, process, self._times[0]) for pid, process in self._processes.items()]
        return [row for _, row in sorted(rows, key=lambda item: item[0], reverse=True)]


def _row(pid: int, process: _Process, since: int) -> tuple[tuple[float, int], tuple[str, ...]]:
    counted, command, devices = [_ABSENT] * 6, "", set[str]()
    busy = 0.0
    if process.counts:
        now = process.counts[-1]
        command = now.command
        devices |= {tally.device for tally in now.tallies if tally.device}
        counted, busy = _counted(process.counts, since)
    fences, jobs, lag = _fences(process.channels)
    devices |= {channel.device for _, channels in process.channels for channel in channels}
    names = ",".join(sorted(device.removeprefix("/dev/") for device in devices)) or _ABSENT
    return (busy, -pid), (str(pid), *counted, fences, jobs, lag, plain(names), plain(command) or _ABSENT)


def _counted(counts: list[Tallies], since: int) -> tuple[list[str], float]:
    """The six columns that come out of counts, and how busy the process is; ``since`` the look before."""
    now, before = counts[-1], counts[0] if len(counts) > 1 else None
    seconds = (now.ts - (before.ts if before else max(now.since, since))) / 1e9 or 1.0
    old = {_key(tally): tally for tally in before.tallies} if before else {}
    calls = _sum(now, old, lambda tally: tally.library == "syscall" and tally.name not in _NOT_CALLS)
    rates = [units.rate(calls.calls / seconds), units.rate(calls.errors / seconds)]
    if now.functions:
        return [*rates, _ABSENT, _ABSENT, _ABSENT, _ABSENT], calls.calls / seconds
    launches = _sum(now, old, lambda tally: tally.name in _LAUNCHES)
    syncs = _sum(now, old, lambda tally: tally.name in _SYNCS)
    columns = [
        *rates,
        units.rate(launches.calls / seconds),
        _time(launches, 0.5),
        _time(launches, 0.99),
        _time(syncs, 0.99),
    ]
    return columns, (calls.calls + launches.calls) / seconds


def _key(tally: Tally) -> Key:
    return tally.library, tally.name, tally.device


def _sum(now: Tallies, old: dict[Key, Tally], wanted: Callable[[Tally], bool]) -> _Sum:
    total = [0, 0, 0, 0]
    buckets: list[int] = []
    for tally in filter(wanted, now.tallies):
        before = old.get(_key(tally)) or Tally(tally.name, tally.library, 0)
        total[0] += tally.calls - before.calls
        total[1] += tally.errors - before.errors
        total[2] += tally.timed - before.timed
        total[3] = max(total[3], tally.max_ns)
        buckets += [0] * (len(tally.buckets) - len(buckets))
        for power, count in enumerate(tally.buckets):
            buckets[power] += count - (before.buckets[power] if power < len(before.buckets) else 0)
    return _Sum(total[0], total[1], total[2], total[3], tuple(buckets))


def _time(total: _Sum, share: float) -> str:
    if not total.timed:
        return _ABSENT
    whole = Tally("", "", total.calls, 0, total.timed, 0, total.max_ns, total.buckets)
    return f"≤{units.duration(whole.percentile(share))}"


def _fences(looks: list[tuple[int, tuple[Channel, ...]]]) -> tuple[str, str, str]:
    """Doorbells and jobs a second, and for how long the oldest waiting channel's fence has stood still."""
    if not looks:
        return _ABSENT, _ABSENT, _ABSENT
    ts, channels = looks[-1]
    waiting = [
        ts - channel.done_ns for channel in channels if channel.ring_size and channel.wptr != channel.rptr
    ]
    lag = units.duration(max(0, *waiting)) if waiting else "0"
    if len(looks) < 2 or ts <= looks[0][0]:
        return _ABSENT, _ABSENT, lag
    then, before = looks[0]
    old = {(channel.device, channel.context, channel.index): channel for channel in before}
    bells = jobs = 0
    for channel in channels:
        known = old.get((channel.device, channel.context, channel.index))
        bells += channel.doorbells - (known.doorbells if known else 0)
        jobs += channel.jobs - (known.jobs if known else 0)
    seconds = (ts - then) / 1e9
    return units.rate(bells / seconds), units.rate(jobs / seconds), lag
