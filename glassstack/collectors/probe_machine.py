"""What is installed and mounted: programs, packages, kernel interfaces, disk space.

Owns the apt lines. Never imports what it looks for: importing bcc takes 130 MB
and the package of that name on the Python index is another program.
"""

import importlib.util
import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import platformdirs

from glassstack.model.entities import Capability

PACKAGES = ("textual", "rich", "ptrace", "pyudev", "psutil", "msgspec", "platformdirs")
SYSTEM_PACKAGES = Path("/usr/lib/python3/dist-packages")
NEEDED_SPACE = 64 << 20
_RUN_TIMEOUT = 10.0
_NETLINK_KOBJECT_UEVENT = 15


class Absent(NamedTuple):
    """Stands for a program that was not found."""

    why: str
    remedy: str


def probe_packages() -> Capability:
    """The Python packages that glassstack stands on."""
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        return Capability("Python packages", False, f"absent: {', '.join(absent)}", "pip install glassstack")
    return Capability("Python packages", True, f"Python {platform.python_version()}")


def probe_embedded(launcher: Path | Absent) -> Capability:
    """Runs a program that does nothing on the embedded device."""
    name = "embedded device"
    if isinstance(launcher, Absent):
        return Capability(name, False, launcher.why, launcher.remedy)
    try:
        done = subprocess.run(
            [launcher, "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_RUN_TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Capability(name, False, f"{launcher}: {error}", "build it again")
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = lines[-1] if lines else f"ended with status {done.returncode}"
        return Capability(name, False, why, f"look at: {launcher} -- true")
    return Capability(name, True, f"{launcher} ran a program")


def probe_kernel_driver(dev: Path = Path("/dev")) -> Capability:
    """Whether the kernel has device nodes of a GPU, the stand-in's or NVIDIA's."""
    found = [name for name in ("fakegpu0", "nvidia0") if (dev / name).is_char_device()]
    if found:
        return Capability("kernel driver", True, ", ".join(str(dev / name) for name in found))
    return Capability(
        "kernel driver", False, f"no {dev}/fakegpu0", "not needed: the embedded device stands in"
    )


def probe_tracefs(sys: Path = Path("/sys")) -> Capability:
    """Whether tracepoints can be looked up."""
    for place in (sys / "kernel/tracing", sys / "kernel/debug/tracing"):
        if os.access(place / "events", os.R_OK | os.X_OK):
            return Capability("tracefs", True, str(place))
    if os.geteuid():
        return Capability("tracefs", False, "not mounted, or not readable", "run as root")
    if (sys / "kernel/tracing").is_dir():
        return Capability("tracefs", True, "not mounted; the BPF process mounts it for itself alone")
    return Capability("tracefs", False, "this kernel has none", "a kernel with CONFIG_FTRACE")


def probe_bcc(system: Path = SYSTEM_PACKAGES) -> Capability:
    """Whether the BPF compiler collection is there, and that it is the real one."""
    candidates = [system / "bcc" / "__init__.py"]
    spec = importlib.util.find_spec("bcc")
    if spec and spec.origin:
        candidates.insert(0, Path(spec.origin))
    impostor = ""
    for path in candidates:
        if not path.is_file():
            continue
        if not _defines_bpf(path):
            impostor = f"`bcc` in {path.parent} is another program"
        elif os.geteuid() != 0:
            return Capability(
                "bcc", False, f"{path.parent}, but loading BPF programs needs root", "run as root"
            )
        else:
            return Capability("bcc", True, str(path.parent) + (f"; {impostor}, ignored" if impostor else ""))
    remedy = "apt-get install -y python3-bpfcc"
    if impostor:
        return Capability("bcc", False, impostor, f"pip uninstall bcc; {remedy}")
    return Capability("bcc", False, "not installed", remedy)


def _defines_bpf(path: Path) -> bool:
    try:
        return b"class BPF(" in path.read_bytes()
    except OSError:
        return False


def probe_btf(sys: Path = Path("/sys")) -> Capability:
    """Whether the kernel describes its own types."""
    place = sys / "kernel/btf/vmlinux"
    if os.access(place, os.R_OK):
        return Capability("BTF", True, str(place))
    return Capability("BTF", False, "the kernel carries no BTF", "a kernel with CONFIG_DEBUG_INFO_BTF")


def probe_uevents(run: Path = Path("/run")) -> Capability:
    """Whether device events arrive: from udev where it runs, from the kernel otherwise."""
    try:
        with socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _NETLINK_KOBJECT_UEVENT
        ) as link:
            link.bind((0, 1))
    except OSError as error:
        return Capability("uevents", False, f"netlink: {error.strerror}", "run outside the sandbox")
    via = "udev" if (run / "udev/control").exists() else "the kernel; no udev runs"
    return Capability("uevents", True, f"from {via}")


def probe_space(state: Path | None = None) -> Capability:
    """Whether recordings have room where the state is kept."""
    place = state or platformdirs.user_state_path("glassstack")
    existing = next(one for one in (place, *place.parents) if os.path.exists(one))
    free = shutil.disk_usage(existing).free
    about = f"{free >> 20} MiB free for {place}"
    if not os.access(existing, os.W_OK, effective_ids=True):
        return Capability(
            "disk space", False, f"{place} can't be written", "set XDG_STATE_HOME to a folder that is"
        )
    if free < NEEDED_SPACE:
        return Capability("disk space", False, about, "make room, or set XDG_STATE_HOME")
    return Capability("disk space", True, about)


def probe_tools(names: Sequence[str] = ("strace", "lsof")) -> list[Capability]:
    """Programs of others to check glassstack against."""
    found = []
    for name in names:
        path = shutil.which(name)
        found.append(
            Capability(name, True, path)
            if path
            else Capability(name, False, "not installed", f"apt-get install -y {name}")
        )
    return found
