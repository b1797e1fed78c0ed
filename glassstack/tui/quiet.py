"""The lesson of the steady state: a process that makes no calls and yet works. Pure."""

from dataclasses import dataclass

from glassstack.format import units
from glassstack.store.snapshot import Snapshot

_LOOK_BACK = 4096  # calls
_BUSY_NS = 1_500_000_000
_LEAST_NS = 1_000_000_000
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Quiet:
    """A process without calls for ``silent_ns`` that ends ``jobs`` a second."""

    pid: int
    command: str
    silent_ns: int
    jobs: float


def _job_rate(s: Snapshot, pid: int) -> float:
    """Jobs a second that ended lately, over the part of a second that the completions reach back."""
    times = [entry.done_ns for owner, _, entry in s.completions if s.ts - entry.done_ns <= _SECOND_NS]
    if not times:
        return 0.0
    mine = sum(1 for owner, _, entry in s.completions if owner == pid and s.ts - entry.done_ns <= _SECOND_NS)
    reaches_back = len(times) < len(s.completions) or s.ts - s.started < _SECOND_NS
    span = _SECOND_NS if reaches_back else max(1, s.ts - min(times))
    return mine * _SECOND_NS / span


def _silences(s: Snapshot, pids: set[int]) -> dict[int, int]:
    """How long each process made no call, as far back as the newest calls reach."""
    silences: dict[int, int] = {}
    oldest = s.started
    for number in range(s.calls_end - 1, max(s.calls.first, s.calls_end - _LOOK_BACK) - 1, -1):
        call = s.calls.get(number)
        if call is None:
            break
        oldest = call.end
        if call.pid in pids and call.pid not in silences:
            silences[call.pid] = s.ts - oldest
            if len(silences) == len(pids):
                break
    return {pid: silences.get(pid, s.ts - oldest) for pid in pids}


def quiet_processes(s: Snapshot) -> list[Quiet]:
    """Processes that work without calls, the busiest first."""
    ringed = {c.pid for c in s.channels if c.ring_size and not c.error}
    busy = {pid for pid, _, entry in s.completions if pid in ringed and s.ts - entry.done_ns <= _BUSY_NS}
    if not busy:
        return []
    names = {t.pid: t.command.split(" ")[0].rpartition("/")[2] for t in s.tracked}
    found = [
        Quiet(pid, names.get(pid, ""), silent, _job_rate(s, pid))
        for pid, silent in _silences(s, busy).items()
        if silent >= _LEAST_NS
    ]
    return sorted((q for q in found if q.jobs > 0), key=lambda q: -q.jobs)


def sentence(s: Snapshot) -> str:
    """The lesson in plain words while it holds, else ""."""
    quiet = quiet_processes(s)
    if not quiet:
        return ""
    first = quiet[0]
    who = f"{first.command or 'process'} {first.pid}"
    silent = units.duration(first.silent_ns // _SECOND_NS * _SECOND_NS)
    return (
        f"Quiet, not stuck: {who} made no call for {silent}"
        f" and ends {units.count(round(first.jobs))} jobs a second. Ring, doorbell and fence are memory:"
        " strace sees nothing."
    )
