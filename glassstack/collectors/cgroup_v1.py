"""Reads one directory of a v1 cgroup hierarchy, under the names v2 gives the same things.

One name has no v2 counterpart: "memory.memsw.max" limits memory and swap
together, where v2's memory.swap.max limits swap alone. Keeps no state, walks no tree.
"""

from pathlib import Path

from glassstack.collectors.cgroup_files import Amount, Reading, Value, content, keyed, maximum, members, whole
from glassstack.model.values import Missing

CONTROLLERS = ("cpu", "cpuacct", "memory", "pids")
"""Those that limit or count what this tool shows."""

# "No limit" is the largest number of whole pages: 0x7ffffffffffff000 with 4 KiB
# pages, less with larger ones (64 KiB at most).
_UNLIMITED = 0x7FFFFFFFFFFF0000


def read(directory: Path, controllers: tuple[str, ...], accounting: Path | None = None) -> Reading:
    """Limits, usage, events and members. Raises CgroupGoneError when it vanishes meanwhile.

    Args:
        directory: the cgroup in the hierarchy of ``controllers``.
        controllers: those of CONTROLLERS that the hierarchy has.
        accounting: the same cgroup in the cpuacct hierarchy, where that is another one.
    """
    limits: dict[str, Value] = {}
    usage: dict[str, Amount] = {}
    events: dict[str, int] = {}
    effective: dict[str, int | None] = {}
    if "memory" in controllers:
        _memory(directory, limits, usage, events, effective)
    if "pids" in controllers:
        limits["pids.max"] = maximum(directory, "pids.max")
        usage["pids.current"] = whole(directory, "pids.current", "the root cgroup does not count its pids")
        events.update({f"pids.{key}": n for key, n in keyed(directory, "pids.events").items()})
    if "cpu" in controllers:
        limits["cpu.max"] = _cpus(directory)
        usage["cpu.usage_usec"] = _cpu_time(accounting or directory)
        stat = keyed(directory, "cpu.stat")
        events.update({f"cpu.{key}": stat[key] for key in ("nr_throttled", "throttled_time") if key in stat})
    # Only the root of a hierarchy has a release_agent.
    is_root = content(directory, "release_agent") is not None
    return Reading(controllers, limits, usage, events, members(directory), is_root, effective)


def _memory(
    directory: Path,
    limits: dict[str, Value],
    usage: dict[str, Amount],
    events: dict[str, int],
    effective: dict[str, int | None],
) -> None:
    limits["memory.max"] = _bytes(maximum(directory, "memory.limit_in_bytes"))
    limits["memory.memsw.max"] = _bytes(maximum(directory, "memory.memsw.limit_in_bytes"))
    usage["memory.current"] = whole(
        directory, "memory.usage_in_bytes", "memory is not counted in this cgroup"
    )
    for name, file in (
        ("memory.failcnt", "memory.failcnt"),
        ("memory.memsw.failcnt", "memory.memsw.failcnt"),
    ):
        count = whole(directory, file, "")
        if isinstance(count, int):
            events[name] = count
    kills = keyed(directory, "memory.oom_control").get("oom_kill")
    if kills is not None:
        events["memory.oom_kill"] = kills
    stat = keyed(directory, "memory.stat")
    for name, key in (
        ("memory.max", "hierarchical_memory_limit"),
        ("memory.memsw.max", "hierarchical_memsw_limit"),
    ):
        if key in stat:
            effective[name] = stat[key] if stat[key] < _UNLIMITED else None


def _bytes(value: Value) -> Value:
    return None if isinstance(value, int) and value >= _UNLIMITED else value


def _cpus(directory: Path) -> Value:
    quota = maximum(directory, "cpu.cfs_quota_us")
    period = maximum(directory, "cpu.cfs_period_us")
    for value in (quota, period):
        if not isinstance(value, int):
            return value if isinstance(value, Missing) else None
    assert isinstance(quota, int)
    assert isinstance(period, int)
    return quota / period if quota > 0 and period > 0 else None


def _cpu_time(directory: Path) -> Amount:
    nanoseconds = whole(directory, "cpuacct.usage", "cpuacct is not mounted with this cgroup")
    return nanoseconds // 1000 if isinstance(nanoseconds, int) else nanoseconds
