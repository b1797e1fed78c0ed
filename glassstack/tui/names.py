"""Who a pid is, out of a snapshot. Pure."""

from collections.abc import Iterable

from glassstack.store.snapshot import Snapshot


def command_name(command: str) -> str:
    """The program's name of a command line: ``train`` of ``/opt/train --steps 5``."""
    return command.split(" ")[0].rpartition("/")[2]


def short_command(command: str) -> str:
    """The command line without the program's folder: ``train --steps 5``."""
    first, space, rest = command.partition(" ")
    return first.rpartition("/")[2] + space + rest


def process_name(s: Snapshot, pid: int) -> str:
    """``812 train``, or ``pid 812`` when nobody said what it runs: the pid survives a narrow column."""
    for tracked in s.tracked:
        if tracked.pid == pid and tracked.command:
            return f"{pid} {command_name(tracked.command)}"
    for process in s.processes or ():
        if process.pid == pid:
            return f"{pid} {process.name}"
    return f"pid {pid}"


def is_ended(s: Snapshot, pid: int) -> bool:
    """True when a traced process is gone."""
    return any(t.pid == pid and t.ended for t in s.tracked)


def living_first(s: Snapshot, pids: Iterable[int]) -> list[int]:
    """The pids, those that ended last."""
    return sorted(pids, key=lambda pid: (is_ended(s, pid), pid))
