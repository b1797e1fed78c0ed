"""What happened in a tree of cgroups, in words: kills where they happened, and whose limit it was. Pure."""

from collections.abc import Iterable

from glassstack.format import units
from glassstack.model.entities import Cgroup, Limit
from glassstack.model.values import Missing

USAGE = {"memory.max": "memory.current", "memory.high": "memory.current", "pids.max": "pids.current"}
"""What is counted against a limit."""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def ooms(tree: Iterable[Cgroup]) -> list[str]:
    """One line for each cgroup in which processes were killed, and for each whose limit was hit.

    memory.events counts what happens below as well; which cgroup's own limit
    was hit, and in which one a process died, only memory.events.local tells.
    """
    lines = []
    for group in tree:
        hit, killed = group.local.get("memory.oom", 0), group.local.get("memory.oom_kill", 0)
        if hit:
            own = next((limit.own for limit in group.limits if limit.name == "memory.max"), None)
            size = f" of {units.size(own)}" if isinstance(own, int) else ""
            lines.append(f"out of memory: the limit{size} of {group.path} was hit {_times(hit)}")
        if killed:
            many = "1 process was" if killed == 1 else f"{killed} processes were"
            lines.append(f"out of memory: {many} killed in {group.path}")
    return lines


def share(group: Cgroup, limit: Limit) -> float | None:
    """How much of the limit that counts is in use, 0 to 1; ``None`` where that is not known.

    What counts against an ancestor's limit is the ancestor's usage: this is
    the cgroup's own part of it.
    """
    used = group.usage.get(USAGE.get(limit.name, ""))
    if used is None or isinstance(used, Missing) or not isinstance(limit.effective, (int, float)):
        return None
    return used / limit.effective if limit.effective > 0 else None


def pressure(group: Cgroup) -> str:
    """``memory 12 % cpu 3 %``: the share of the last 10 s in which some task waited; "" where none did."""
    waits = ((name.removesuffix(".some"), value) for name, value in group.pressure.items())
    return " ".join(f"{name} {value:.0f} %" for name, value in waits if value >= 0.5)
