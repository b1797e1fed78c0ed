"""What a machine must offer for a drill, and what would make it so. One row a gate."""

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from glassstack.drills.containers import unified
from glassstack.gpu.artifacts import Artifacts, MissingArtifactError


class Absent(NamedTuple):
    """Why a gate is shut, and what opens it."""

    why: str
    remedy: str


_LOCKED = 4 << 20
Gate = Callable[[], Absent | None]


def _program(name: str, package: str) -> Gate:
    def gate() -> Absent | None:
        return None if shutil.which(name) else Absent(f"no {name}", f"apt-get install -y {package}")

    return gate


def _root() -> Absent | None:
    return (
        None if os.geteuid() == 0 else Absent("only root can do it", "run it as root, or in `glassstack lab`")
    )


def _kernel_module() -> Absent | None:
    if Path("/proc/driver/fakegpu/version").exists():
        return None
    return Absent("the fakegpu module is not loaded", "run it inside `glassstack lab`")


def _namespaces() -> Absent | None:
    """A mount namespace, tried: nothing else tells. And the folder that the node's files are bound over."""
    words = (
        ["unshare", "--mount", "true"]
        if os.geteuid() == 0
        else ["unshare", "--map-root-user", "--mount", "true"]
    )
    try:
        tried = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Absent(f"no unshare: {error}", "apt-get install -y util-linux")
    if tried.returncode:
        return Absent(
            f"no namespaces: {tried.stderr.strip()}", "sysctl kernel.unprivileged_userns_clone=1, or be root"
        )
    if not Path("/opt").is_dir():
        return Absent("there is no /opt to lay the node's files over", "mkdir /opt, as root")
    return None


def _containers() -> Absent | None:
    """minirt as root, in a unified hierarchy that it may make a cgroup in."""
    try:
        Artifacts().bin("minirt")
        Artifacts().bin("fakegpu-hook")
    except MissingArtifactError as error:
        return Absent(error.cause, error.remedy)
    if not (unified() / "cgroup.procs").exists():
        return Absent("no unified cgroup hierarchy", "run it inside `glassstack lab`")
    return _root() or GATES["busybox"]()


def _memory() -> Absent | None:
    """Whether a cgroup's memory can be limited in the unified hierarchy."""
    try:
        controllers = (unified() / "cgroup.controllers").read_text().split()
    except OSError:
        controllers = []
    if "memory" in controllers:
        return None
    return Absent("the memory controller is not in the unified hierarchy", "run it inside `glassstack lab`")


def _memlock() -> Absent | None:
    """A few MiB that anybody may lock, as systemd gives everybody 8."""
    most = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    if os.geteuid() == 0 or most == resource.RLIM_INFINITY or most >= _LOCKED:
        return None
    return Absent(f"only {most >> 10} KiB may be locked", "ulimit -l 8192, as root or in limits.conf")


GATES: dict[str, Gate] = {
    "cc": _program("cc", "gcc make libc6-dev"),
    "strace": _program("strace", "strace"),
    "root": _root,
    "module": _kernel_module,
    "busybox": _program("busybox", "busybox-static"),
    "containers": _containers,
    "memory": _memory,
    "namespaces": _namespaces,
    "memlock": _memlock,
}
PLACES: dict[str, tuple[str, ...]] = {
    "here": ("namespaces",),
    "rootless": ("namespaces",),
    "lab": ("root", "module", "namespaces"),
}


def missing(place: str, requires: Iterable[str]) -> Absent | None:
    """The first gate that is shut for a place, ``None`` when all are open."""
    for name in (*PLACES[place], *requires):
        gate = GATES.get(name)
        why = gate() if gate else Absent(f"unknown requirement {name!r}", f"there are {', '.join(GATES)}")
        if why:
            return why
    return None
