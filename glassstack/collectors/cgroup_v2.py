"""Reads one directory of the unified cgroup hierarchy (v2). Keeps no state, walks no tree."""

from pathlib import Path

from glassstack.collectors.cgroup_files import Amount, Reading, Value, content, keyed, maximum, members, whole
from glassstack.model.values import Missing

CONTROLLERS = ("cpu", "memory", "pids")
"""Those that limit what this tool shows."""


def read(directory: Path) -> Reading:
    """Limits, usage, events and members. Raises CgroupGoneError when it vanishes meanwhile."""
    listed = content(directory, "cgroup.controllers")
    controllers = tuple(listed.split()) if isinstance(listed, str) else ()
    return Reading(
        controllers=controllers,
        limits=_limits(directory),
        usage=_usage(directory),
        events=_events(directory),
        pids=members(directory),
        local={
            f"memory.{key}": count
            for key, count in keyed(directory, "memory.events.local").items()
            if key in ("oom", "oom_kill", "oom_group_kill")
        },
        pressure=_pressure(directory),
        is_root=content(directory, "cgroup.type") is None,  # every cgroup but the machine's root has one
    )


def _limits(directory: Path) -> dict[str, Value]:
    names = ("memory.max", "memory.high", "memory.swap.max", "pids.max")
    limits = {name: maximum(directory, name) for name in names}
    limits["cpu.max"] = _cpus(directory)
    return limits


def _cpus(directory: Path) -> Value:
    text = content(directory, "cpu.max")
    if not isinstance(text, str):
        return text
    quota, _, period = text.partition(" ")
    if quota == "max":
        return None
    if not (quota.isdigit() and period.isdigit() and int(period)):
        return Missing(f"cpu.max: not a quota and a period: {text[:40]!r}")
    return int(quota) / int(period)


def _usage(directory: Path) -> dict[str, Amount]:
    usage: dict[str, Amount] = {
        "memory.current": whole(directory, "memory.current", "memory is not counted in this cgroup"),
        "pids.current": whole(directory, "pids.current", "pids are not counted in this cgroup"),
    }
    used = keyed(directory, "cpu.stat").get("usage_usec")
    usage["cpu.usage_usec"] = Missing("cpu time is not counted in this cgroup") if used is None else used
    return usage


def _pressure(directory: Path) -> dict[str, float]:
    """Pressure stall information: of "some avg10=1.23 avg60=…" the first average."""
    found = {}
    for name in ("memory", "cpu", "io"):
        text = content(directory, f"{name}.pressure")
        words = text.split() if isinstance(text, str) else []
        if len(words) > 1 and words[0] == "some" and words[1].startswith("avg10="):
            try:
                found[f"{name}.some"] = float(words[1].removeprefix("avg10="))
            except ValueError:
                continue
    return found


def _events(directory: Path) -> dict[str, int]:
    events = {}
    for controller in ("memory", "pids"):
        for key, count in keyed(directory, f"{controller}.events").items():
            events[f"{controller}.{key}"] = count
    stat = keyed(directory, "cpu.stat")
    events.update({f"cpu.{key}": stat[key] for key in ("nr_throttled", "throttled_usec") if key in stat})
    return events
