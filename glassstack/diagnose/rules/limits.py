"""Host memory: limits that are set higher up, the OOM killer, pinned memory; a program that waits."""

import re
from pathlib import PurePosixPath

from glassstack.diagnose.evidence import Evidence, Fact
from glassstack.diagnose.limits import UNLIMITED, effective
from glassstack.diagnose.rules import ask
from glassstack.diagnose.rules.base import Match, Rule, every, has, matched, no, seen, some
from glassstack.format.units import size

SMALL_KIB = 1 << 20
"""A memlock limit under 1 GiB is too small to register memory for a network card or pin buffers."""
_ESCAPED = re.compile(
    r"/(?:docker|podman|dockerd|containerd)[\w.-]*\.(?:service|slice)/|/docker/[0-9a-f]{12,}"
)
_JOB = re.compile(r"slurm|/job[-_]?\d|kubepods", re.IGNORECASE)


def _inherited(evidence: Evidence) -> Match | None:
    """A cgroup whose own memory limit is not the one that counts."""
    facts = evidence.all("memory_limit")
    limits = {fact.get("path"): fact.get("value") for fact in facts if fact.get("file") != "memory.high"}
    for fact in facts:
        own = limits.get(fact.get("path"), UNLIMITED)
        value, setter = effective(fact.get("path"), limits)
        if (
            value is not None
            and setter != fact.get("path")
            and str(value) != own
            and _is_deepest(fact, facts)
        ):
            by = next(one for one in facts if one.get("path") == setter)
            return matched([fact, by], value=size(value), setter=setter, own=own)
    return None


def _is_deepest(fact: Fact, facts: list[Fact]) -> bool:
    prefix = fact.get("path") + "/"
    return not any(one.get("path").startswith(prefix) for one in facts)


def _oom(evidence: Evidence) -> Match | None:
    facts = evidence.all("oom", constraint="CONSTRAINT_MEMCG")
    if not facts:
        return None
    first = facts[0]
    limit, own = first.get("oom"), first.get("memcg")
    whose = "its own" if limit == own else f"that of {PurePosixPath(limit).name or 'an ancestor'}, further up"
    return matched([*facts, *evidence.all("oom_killed")[:2]], whose=whose, group=PurePosixPath(own).name)


def _memlock(evidence: Evidence) -> Match | None:
    asked = [*evidence.all("reg_mr"), *evidence.all("pin_failed"), *evidence.all("mlock_failed")]
    limits = [
        fact
        for fact in evidence.all("memlock")
        if fact.get("limit").isdigit() and int(fact.get("limit")) < SMALL_KIB
    ]
    if not asked or not limits:
        return None
    return matched([asked[0], limits[0]], limit=size(int(limits[0].get("limit")) * 1024))


def _map_count(evidence: Evidence) -> Match | None:
    asked = [*evidence.all("pin_failed"), *evidence.all("reg_mr")]
    small = [
        fact
        for fact in evidence.all("map_count")
        if fact.get("limit").isdigit() and int(fact.get("limit")) <= 65530
    ]
    return matched([small[0], asked[0]]) if asked and small else None


def _escaped(evidence: Evidence) -> Match | None:
    """A process of a job whose cgroup is the container daemon's, and not the job's."""
    for fact in evidence.all("self_cgroup", path=lambda path: bool(_ESCAPED.search(path + "/"))):
        job = [one for one in evidence.all("oom") if _JOB.search(one.get("oom"))]
        jobs = [one for one in evidence.all("self_cgroup") if _JOB.search(one.get("path"))]
        if (job or jobs) and not _JOB.search(fact.get("path")):
            return matched([fact, *(job or jobs)[:1]])
    return None


def _unit_elsewhere(evidence: Evidence) -> Match | None:
    """A unit with a memory limit, and a container whose cgroup is not below that unit."""
    limit = evidence.first("unit_memory", limit=lambda text: text != "infinity")
    place = evidence.first("self_cgroup", path=has("libpod", "docker-", "crio-"))
    if limit is None or place is None or ".service/" in place.get("path"):
        return None
    return matched([limit, place], place=place.get("path"))


def _polling(evidence: Evidence) -> Match | None:
    """RM_CONTROL again and again, all of it answered."""
    facts = evidence.all("rm_control")
    count = evidence.counts["rm_control"]
    if count < 20 or any(fact.get("result") != "0" for fact in facts) or evidence.first("ioctl_stuck"):
        return None
    return matched(facts[:2], count=str(count))


_WSL = seen("wsl")
_PIN = some(seen("pin_failed"), seen("host_alloc_failed"), every(ask.cuda(2), seen("pin_failed")))

RULES = (
    Rule(
        id="CGROUP_ESCAPE",
        layer="cgroup",
        when=_escaped,
        cause="The container lives in the daemon's cgroup ({path}), outside the job's: the job's limits do "
        "not bind it, "
        "and its memory is charged elsewhere.",
        unlike="A container of the job would have the job's name in its path.",
        next="Give the daemon a cgroup parent inside the job (--cgroup-parent), or use rootless podman "
        "with --cgroups=split.",
        confirm="/proc/PID/cgroup of the container names the job.",
        source="nebius/soperator PR 2268",
    ),
    Rule(
        id="UNIT_LIMIT_ELSEWHERE",
        layer="cgroup",
        when=_unit_elsewhere,
        cause="The unit has MemoryMax={limit}, but its container runs in {place}, outside the unit.",
        unlike="Below the unit the limit would count.",
        next="Start the container with --cgroups=split (or --memory on the container itself).",
        confirm="glassstack cgroup PID shows the unit among the ancestors.",
        source="podman-container-tools/podman#22521",
    ),
    Rule(
        id="INHERITED_MEMORY_MAX",
        layer="cgroup",
        when=_inherited,
        cause="The container shows a limit of {own}, yet {value} counts: it is set on {setter}.",
        unlike="Looking at the container's own memory.max alone hides it.",
        next="Raise or lower it where it is set; a job's limit belongs to its scheduler.",
        confirm="glassstack cgroup PID shows the effective limit and who sets it.",
        source="google/cadvisor#3682",
        note=True,
    ),
    Rule(
        id="OOM_MEMCG",
        layer="cgroup",
        when=_oom,
        cause="The kernel killed {task} (pid {pid}) in {group} because a cgroup's memory limit was "
        "reached: {whose}.",
        unlike="When the whole machine is short, the constraint is CONSTRAINT_NONE.",
        next="Raise the limit, or lower what counts against it (data loader workers, shared memory, pinned "
        "buffers).",
        confirm="memory.events of that cgroup: oom_kill no longer grows.",
        source="leptonai/gpud PR 70",
        over=("XID_45", "XID_43"),
    ),
    Rule(
        id="OOM_HOST",
        layer="limits",
        when=seen("oom", constraint="CONSTRAINT_NONE"),
        cause="The whole machine ran out of memory, and the kernel killed {task} (pid {pid}).",
        unlike="A cgroup's own limit has CONSTRAINT_MEMCG.",
        next="See what filled it, and give jobs limits of their own.",
        confirm="dmesg shows no further oom-kill.",
        source="Linux mm/oom_kill.c",
        over=("XID_45",),
    ),
    Rule(
        id="WSL_PIN_LIMIT",
        layer="limits",
        when=every(_WSL, _PIN),
        cause="This is WSL, which lets a program pin only part of the memory.",
        unlike="On plain Linux the limit would be memlock.",
        next="Raise memory= in .wslconfig (about half of it can be pinned), or pin less.",
        confirm="The same allocation at half the size works.",
        source="microsoft/WSL#14078; NVIDIA/nvidia-docker#1725",
        over=("CUDA_2", "MEMLOCK"),
    ),
    Rule(
        id="MAP_COUNT",
        layer="limits",
        when=every(_map_count, no(_memlock)),
        cause="Registering many small pieces of memory ran into vm.max_map_count ({limit}).",
        unlike="With memlock at fault already the first large registration fails.",
        next="sysctl -w vm.max_map_count=1048576, or register fewer, larger pieces.",
        confirm="wc -l /proc/PID/maps is well under the limit.",
        source="QMCPACK/qmcpack#5557",
        over=("CUDA_2", "CUDA_304"),
    ),
    Rule(
        id="MEMLOCK",
        layer="limits",
        when=every(_memlock, no(_WSL)),
        cause="Memory could not be locked: the limit is {limit} (ulimit -l), and registering or pinning "
        "needs far more.",
        unlike="Real shortage of memory would show in the OOM lines; here plenty is free.",
        next="Set it to unlimited where the process comes from: LimitMEMLOCK=infinity for the runtime's or "
        "scheduler's unit, "
        "--ulimit memlock=-1 for a container, limits.conf for a login.",
        confirm="grep 'locked memory' /proc/PID/limits says unlimited.",
        source="NVIDIA/nccl-tests#206; LMCache/LMCache-Ascend#5; NVIDIA/cudf-spark PR 7632",
        over=("CUDA_2",),
    ),
    Rule(
        id="POLLING_NOT_HUNG",
        layer="app",
        when=_polling,
        cause="The program makes RM_CONTROL calls in a loop, and each returns 0 ({count} seen): it waits "
        "for the GPU or a peer, "
        "the driver does not hang.",
        unlike="A driver that hangs shows one call that never returns.",
        next="Look at the program: which rank or kernel is late (py-spy dump, NCCL_DEBUG=INFO, glassstack "
        "fences PID).",
        confirm="The calls stop once the awaited work is done.",
        source="huggingface/datasets#8242",
        note=True,
    ),
)
