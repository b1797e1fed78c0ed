"""A process as texts for the debugging ladder: libraries, cgroup, limits, environment, what it may open.

Owns what is read of a process. Reads only.
"""

import grp
import os
import pwd
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from glassstack.collectors.cgroup import CgroupCollector
from glassstack.collectors.containers import container_of_any
from glassstack.collectors.identity import pids, read_bytes
from glassstack.model.values import Missing

if TYPE_CHECKING:
    from glassstack.collectors.host import Text

_NAMES = ("NVIDIA_", "CUDA_", "LD_LIBRARY_PATH=", "LD_PRELOAD=", "NCCL_")
_LIBRARIES = ("libcuda", "libnvidia", "libfakecuda", "libfakeml", "libcudart")
_GPU_NODES = ("nvidiactl", "nvidia0", "nvidia-uvm", "fakegpuctl", "fakegpu0", "fakegpu-uvm")
Lacks = Callable[[str, str], None]


def texts(proc: Path, pid: int | None, lacks: Lacks) -> "Iterator[Text]":
    """What the rungs above the node need of a process; of glassstack itself where ``pid`` is None."""
    from glassstack.collectors.host import Text

    who = os.getpid() if pid is None else pid
    if pid is not None:
        lines = [
            line
            for line in _lines(proc, who, "maps", "libraries", lacks)
            if any(x in line for x in _LIBRARIES)
        ]
        if lines:
            yield Text("libraries", f"{proc}/{who}/maps", "\n".join(lines))
        else:
            lacks("libraries", f"process {who} has no GPU library mapped")
    environment = _environment(proc, who, lacks)
    if environment:
        yield Text("env", f"{proc}/{who}/environ", "\n".join(environment))
    limits = [line for line in _lines(proc, who, "limits", "limits", lacks) if line.startswith("Max locked")]
    if limits:
        yield Text("limits", f"{proc}/{who}/limits", "\n".join(limits))
    yield from _cgroup(proc, who, lacks)
    refused = list(_refused(proc, who))
    if refused:
        yield Text("permissions", f"nodes and the ids of process {who}", "\n".join(refused))


def _lines(proc: Path, pid: int, name: str, rung: str, lacks: Lacks) -> list[str]:
    try:
        return read_bytes(f"{proc}/{pid}/{name}").decode("utf-8", "replace").splitlines()
    except OSError as error:
        lacks(rung, f"{proc}/{pid}/{name}: {error.strerror}")
        return []


def _environment(proc: Path, pid: int, lacks: Lacks) -> list[str]:
    """Only what concerns a GPU: the rest is nobody's business."""
    try:
        data = read_bytes(f"{proc}/{pid}/environ").decode("utf-8", "replace")
    except OSError as error:
        lacks("env", f"{proc}/{pid}/environ: {error.strerror}")
        return []
    return [one.replace("\n", " ") for one in data.split("\0") if one.startswith(_NAMES)]


def _cgroup(proc: Path, pid: int, lacks: Lacks) -> "Iterator[Text]":
    from glassstack.collectors.host import Text

    own = _lines(proc, pid, "cgroup", "cgroup", lacks)
    if own:
        yield Text("cgroup", f"{proc}/{pid}/cgroup", "\n".join(own))
    event = CgroupCollector(list, proc).of(pid)
    if event.missing:
        lacks("cgroup", event.missing)
    lines = []
    for group in event.tree:
        limit = next(
            (
                one
                for one in group.limits
                if (one.name.startswith("memory.") and "max" in one.name)
                or one.name == "memory.limit_in_bytes"
            ),
            None,
        )
        if limit is None or group.relation == "child":
            continue
        if isinstance(limit.own, Missing):
            lacks("cgroup", f"memory limit of {group.path}: {limit.own.why}")
            continue
        lines += [
            f"==> /sys/fs/cgroup{group.path.rstrip('/')}/memory.max <==",
            "max" if limit.own is None else str(limit.own),
        ]
    if lines:
        yield Text("cgroup", "memory limits", "\n".join(lines))
    yield from _device_rules(own)


def _device_rules(own: list[str]) -> "Iterator[Text]":
    """The device rules of cgroup v1; those of v2 are programs that only root's tools can list."""
    from glassstack.collectors.host import Text, read

    for line in own:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "devices" in controllers.split(","):
            file = Path(f"/sys/fs/cgroup/devices{path}/devices.list")
            try:
                yield Text("cgroup", str(file), read(file))
            except OSError:
                return  # not mounted there, or another namespace's path


def _refused(proc: Path, pid: int) -> Iterator[str]:
    """Nodes that the file mode closes to the process, in the form that strace would show."""
    try:
        status = read_bytes(f"{proc}/{pid}/status").decode("utf-8", "replace")
    except OSError:
        return
    fields = dict(line.partition(":")[::2] for line in status.splitlines())
    uid, gid = (int(fields.get(name, "0 0").split()[1]) for name in ("Uid", "Gid"))
    groups = {gid, *map(int, fields.get("Groups", "").split())}
    if int(fields.get("CapEff", "0").strip() or "0", 16) & 2:  # CAP_DAC_OVERRIDE opens them all
        return
    for name in _GPU_NODES:
        try:
            found = os.stat(f"{proc}/{pid}/root/dev/{name}")
        except OSError:
            continue
        shift = 6 if found.st_uid == uid else 3 if found.st_gid in groups else 0
        if found.st_mode >> shift & 6 != 6:
            mode = f"{found.st_mode & 0o7777:04o}"
            yield f'open("/dev/{name}", O_RDWR) = -1 EACCES (its mode {mode} forbids uid {uid})'


def names(uid: int, gid: int) -> tuple[str, str]:
    """User and group names, the numbers where there are none."""
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    try:
        return user, grp.getgrgid(gid).gr_name
    except KeyError:
        return user, str(gid)


def pid_of_container(name: str, proc: Path = Path("/proc")) -> int | None:
    """The first process of the container whose id starts with ``name``, None for none."""
    for pid in pids(str(proc)):
        try:
            lines = read_bytes(f"{proc}/{pid}/cgroup").decode("utf-8", "replace").splitlines()
        except OSError:
            continue
        container = container_of_any(line.split(":", 2)[2] for line in lines if line.count(":") >= 2)
        if container is not None and container.kind != "systemd" and container.id.startswith(name):
            return pid
    return None
