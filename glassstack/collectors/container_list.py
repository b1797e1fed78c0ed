"""The containers of this machine, whoever started them: processes in a PID namespace of their own.

Owns who belongs to which container, and what it is called: by the state that
a runtime keeps, else by its cgroup's name. Both worlds are read by worlds.py.
"""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from glassstack.collectors import cgroup_mounts
from glassstack.collectors.cgroup_mounts import Membership, memberships
from glassstack.collectors.containers import container_of_any
from glassstack.collectors.device_list import DeviceLists, v1_list
from glassstack.collectors.identity import main_path, pids, read_bytes, read_stat
from glassstack.collectors.steps import State
from glassstack.collectors.worlds import Process, namespaces, world
from glassstack.model.entities import Capability, Container, DeviceList
from glassstack.model.events import Containers, Event
from glassstack.model.values import Source

_PROCESSES_MAX = 200


class ContainerCollector:
    """Looks for containers.

    Args:
        states: asked at each look for the containers that minirt knows.
        proc: a procfs.
    """

    name = "containers"

    def __init__(
        self,
        states: Callable[[], Sequence[State]] = tuple,
        proc: Path = Path("/proc"),
        period: float = 2.0,
    ) -> None:
        self.period = period
        self._states = states
        self._proc = proc
        self._lists: DeviceLists | None = None

    def probe(self) -> Capability:
        """Ready always; says when only the own user's containers can be looked into."""
        if os.geteuid() == 0:
            return Capability(self.name, True, "all containers, device lists read back from the kernel")
        return Capability(self.name, True, "containers of this user only", "run as root to see everybody's")

    def sample(self) -> list[Event]:
        """One Containers event."""
        return [self.look()]

    def look(self) -> Containers:
        """The containers now, by the pid of their first process."""
        groups = self._groups()
        known = {state.pid: state for state in self._states() if state.pid}
        found = []
        for first in sorted(groups):
            try:
                found.append(self._container(first, groups[first], known))
            except (OSError, ValueError):
                continue  # it ended meanwhile
        host = world(self._proc, os.getpid() if (self._proc / str(os.getpid())).exists() else 1, ())
        return Containers(time.monotonic_ns(), Source.POLL, host, tuple(found))

    def _groups(self) -> dict[int, list[Process]]:
        """Processes of each PID namespace but our own, by the host's pid of the first."""
        own = namespaces(self._proc / "self").get("pid")
        spaces: dict[int, list[Process]] = {}
        for pid in pids(str(self._proc)):
            try:
                space = namespaces(self._proc / str(pid)).get("pid")
                if space is None or space == own:
                    continue
                spaces.setdefault(space, []).append(self._process(pid))
            except (OSError, ValueError):
                continue
        groups = (sorted(members, key=lambda member: member[1]) for members in spaces.values())
        return {members[0][0]: members[:_PROCESSES_MAX] for members in groups}

    def _process(self, pid: int) -> Process:
        home = f"{self._proc}/{pid}"
        inside = pid
        for line in read_bytes(f"{home}/status").splitlines():
            if line.startswith(b"NSpid:"):
                inside = int(line.split()[-1])
        command = read_bytes(f"{home}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()
        return pid, inside, command or read_stat(str(self._proc), pid).name

    def _container(self, pid: int, members: list[Process], known: dict[int, State]) -> Container:
        lines = memberships(read_bytes(f"{self._proc}/{pid}/cgroup").decode("utf-8", "surrogateescape"))
        label = container_of_any(line.path for line in lines)
        mine = next((known[member[0]] for member in members if member[0] in known), None)
        inside = world(self._proc, pid, members)
        if mine:
            runtime, name = "minirt", mine.id
        elif label and label.kind != "systemd":
            runtime, name = label.kind, label.id
        else:
            runtime, name = "", f"pid:{inside.namespaces.get('pid', '?')}"
        return Container(name, runtime, pid, main_path(lines), inside, self._devices(lines))

    def _devices(self, lines: Sequence[Membership]) -> DeviceList:
        """The programs of v2 where there are any, else the list of v1, where that has the controller."""
        found = self._programs(next((line.path for line in lines if line.version == 2), ""))
        old = next((line for line in lines if "devices" in line.controllers), None)
        if old is None or found.programs:
            return found
        mount = cgroup_mounts.mount_of(old, self._mounts())
        if mount is None:
            return DeviceList(old.path, (), None, "no mount here shows its device list")
        return v1_list(cgroup_mounts.directory(mount, old.path, Path("/")), old.path)

    def _programs(self, cgroup: str) -> DeviceList:
        if not cgroup:
            return DeviceList("", (), None, "it is in no cgroup of version 2")
        if self._lists is None:
            mount = next((one for one in self._mounts() if one.version == 2 and one.root == "/"), None)
            if mount is None:
                return DeviceList(cgroup, (), None, "no cgroup v2 is mounted here")
            self._lists = DeviceLists(Path(mount.point))
        return self._lists.of(cgroup)

    def _mounts(self) -> list[cgroup_mounts.Mount]:
        text = read_bytes(f"{self._proc}/self/mountinfo").decode("utf-8", "surrogateescape")
        return cgroup_mounts.mounts(text)
