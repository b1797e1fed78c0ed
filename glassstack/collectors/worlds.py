"""What a process sees of the machine: its namespaces, mounts, device nodes, GPU libraries and cgroup.

Owns the reading of one process from outside. What can't be read is named in
``missing``; nothing is entered but a UTS namespace, by a thread that ends.
"""

import ctypes
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from glassstack.collectors.cgroup_mounts import memberships, unescape
from glassstack.collectors.identity import main_path, read_bytes
from glassstack.collectors.libraries import library
from glassstack.model.entities import DeviceNode, GpuLibrary, MountPoint, World

KINDS = ("pid", "mnt", "uts", "ipc", "net", "cgroup", "user")
LIBRARY_PATHS = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib/glassstack",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/local/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/compat",
    "/usr/local/cuda/lib64",
)
_NODES_MAX = 200
_SECCOMP = {"0": "off", "1": "strict", "2": "filter"}
_NEWUTS = 0x04000000

Process = tuple[int, int, str]
"""Pid on the host, pid in its own namespace, command."""


def world(proc: Path, pid: int, processes: Sequence[Process]) -> World:
    """The world of ``pid``, with ``processes`` in it. Raises ProcessLookupError when it is gone."""
    home = proc / str(pid)
    if not home.exists():
        raise ProcessLookupError(pid)
    missing: list[str] = []

    def text(name: str) -> str:
        try:
            return read_bytes(f"{home}/{name}").decode("utf-8", "surrogateescape")
        except OSError as error:
            missing.append(f"{name}: {(error.strerror or 'cannot be read').lower()}")
            return ""

    # Of several, the first may be the runtime's own, with privileges that the command has not.
    command = processes[1][0] if len(processes) > 1 else pid
    status = dict(line.partition(":\t")[::2] for line in text(f"../{command}/status").splitlines())
    return World(
        hostname=_hostname(home, missing),
        processes=tuple(processes),
        namespaces=namespaces(home),
        mounts=tuple(_mounts(text("mountinfo"))),
        nodes=tuple(_nodes(home / "root", missing)),
        libraries=tuple(_libraries(home / "root")),
        cgroup=main_path(memberships(text("cgroup"))),
        uid_map="; ".join(" ".join(line.split()) for line in text("uid_map").splitlines()),
        capabilities=int(status.get("CapBnd", "0"), 16),
        seccomp=_SECCOMP.get(status.get("Seccomp", "").strip(), ""),
        no_new_privs=status.get("NoNewPrivs", "").strip() == "1",
        missing=tuple(missing),
    )


def namespaces(home: Path) -> dict[str, int]:
    """Inode numbers of a process's namespaces, of those kinds that can be seen."""
    found = {}
    for kind in KINDS:
        try:
            found[kind] = int(os.readlink(home / "ns" / kind).partition("[")[2].rstrip("]"))
        except (OSError, ValueError):
            continue
    return found


def _mounts(text: str) -> Iterator[MountPoint]:
    for line in text.splitlines():
        left, dash, right = line.partition(" - ")
        before, after = left.split(" "), right.split(" ")
        if dash and len(before) >= 6 and len(after) >= 3:
            yield MountPoint(
                unescape(before[4]), after[0], unescape(after[1]), unescape(before[3]), before[5]
            )


def _nodes(root: Path, missing: list[str]) -> Iterator[DeviceNode]:
    """Character and block devices in /dev and one level below."""
    try:
        top = sorted(os.scandir(root / "dev"), key=lambda entry: entry.name)
    except OSError as error:
        missing.append(f"/dev: {(error.strerror or 'cannot be read').lower()}")
        return
    count = 0
    for entry in top:
        for node in (entry, *_below(entry)):
            found = _node(node, f"/dev{node.path.removeprefix(f'{root}/dev')}")
            if found and count < _NODES_MAX:
                count += 1
                yield found


def _below(entry: "os.DirEntry[str]") -> list["os.DirEntry[str]"]:
    try:
        if entry.is_dir(follow_symlinks=False) and entry.name != "pts":
            return sorted(os.scandir(entry.path), key=lambda inner: inner.name)
    except OSError:
        pass
    return []


def _node(entry: "os.DirEntry[str]", path: str) -> DeviceNode | None:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    kind = "c" if stat.S_ISCHR(status.st_mode) else "b" if stat.S_ISBLK(status.st_mode) else ""
    if not kind:
        return None
    number = status.st_rdev
    owner = f"{status.st_uid}:{status.st_gid}"
    return DeviceNode(
        path, os.major(number), os.minor(number), stat.S_IMODE(status.st_mode), owner, kind=kind
    )


def _libraries(root: Path) -> Iterator[GpuLibrary]:
    """GPU libraries with a version in their name, on the usual library paths of a root."""
    seen: set[tuple[int, int]] = set()
    for directory in LIBRARY_PATHS:
        try:
            entries = sorted(os.scandir(f"{root}{directory}"), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            kind = library(entry.name)
            if kind is None or not kind.version or entry.is_symlink():
                continue
            status = entry.stat(follow_symlinks=False)
            if (status.st_dev, status.st_ino) not in seen:  # /lib is often a link to /usr/lib
                seen.add((status.st_dev, status.st_ino))
                yield GpuLibrary(f"{directory}/{entry.name}", kind.what, kind.version)


def _hostname(home: Path, missing: list[str]) -> str:
    """The host name in a process's UTS namespace: no file tells it, so a thread goes and asks."""
    if os.stat(home).st_uid != os.geteuid() and os.geteuid() != 0:
        missing.append("hostname: only root can look into its UTS namespace")
        return ""
    answer: list[str] = []
    thread = threading.Thread(target=_ask_hostname, args=(home / "ns/uts", answer), name="uts")
    thread.start()
    thread.join()
    if not answer:
        missing.append("hostname: only root can look into its UTS namespace")
    return answer[0] if answer else ""


def _ask_hostname(path: Path, answer: list[str]) -> None:
    try:
        if os.stat(path).st_ino != os.stat("/proc/thread-self/ns/uts").st_ino:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if ctypes.CDLL(None, use_errno=True).setns(descriptor, _NEWUTS):
                    return
            finally:
                os.close(descriptor)
        answer.append(os.uname().nodename)
    except OSError:
        return
