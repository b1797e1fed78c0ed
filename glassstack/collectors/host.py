"""This host as texts that a person would have pasted: what the debugging ladder is built from. Reads only.

Owns which files tell of which rung, and the form of what has none (device
nodes, PCI). Opens no device node and starts no driver. Judges nothing.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from glassstack.collectors import host_process, kmsg

TEXT_MAX = 1 << 20
"""Bytes read of one file."""
_DRIVERS = ("nvidia", "fakegpu")
_CONFIG = (
    "nvidia-container-runtime/config.toml",
    "docker/daemon.json",
    "containerd/config.toml",
    "nvidia-fabricmanager/fabricmanager.cfg",
)
_GPU_CLASSES = ("0x0300", "0x0302", "0x0380")


class Text(NamedTuple):
    """One text: the rung of the ladder that it is about, the file it stands for, its content."""

    rung: str
    name: str
    content: str


@dataclass
class Host:
    """Where to look. A test gives folders; ``pid`` also looks at that process.

    Attributes:
        missing: filled while reading: rung → why something could not be read.
    """

    proc: Path = Path("/proc")
    sys: Path = Path("/sys")
    dev: Path = Path("/dev")
    etc: Path = Path("/etc")
    run: Path = Path("/var/run")
    pid: int | None = None
    kernel_log: Callable[[], list[str]] | None = None
    ldconfig: Callable[[], str] | None = None
    missing: dict[str, list[str]] = field(default_factory=dict)

    def texts(self) -> Iterator[Text]:
        """All texts, from the hardware up; what can't be read goes to ``missing``."""
        yield from self._hardware()
        yield from self._files("module", self.proc, ("modules", "sys/kernel/osrelease"))
        for driver in _DRIVERS:
            yield from self._files("module", self.proc, (f"driver/{driver}/version",), quiet=True)
        yield from self._nodes()
        yield from self._files("nodes", self.proc, ("devices",))
        yield from self._files("permissions", self.proc, ("driver/nvidia/params",), quiet=True)
        yield from self._libraries()
        yield from self._files("runtime", self.etc, _CONFIG, quiet=True)
        for folder in (self.etc / "cdi", self.run / "cdi"):
            yield from self._files("runtime", folder, _specs(folder), quiet=True)
        yield from host_process.texts(self.proc, self.pid, self._lacks)
        yield from self._log()

    def _lacks(self, rung: str, why: str) -> None:
        self.missing.setdefault(rung, []).append(why)

    def _files(self, rung: str, folder: Path, names: tuple[str, ...], quiet: bool = False) -> Iterator[Text]:
        for name in names:
            path = folder / name
            try:
                content = read(path)
            except OSError as error:
                if not (quiet and error.errno in (errno.ENOENT, errno.ENOTDIR)):
                    self._lacks(rung, f"{path}: {error.strerror}")
                continue
            yield Text(rung, str(path), content)

    def _hardware(self) -> Iterator[Text]:
        """NVIDIA's GPUs on PCI, as lspci -k shows them."""
        folder = self.sys / "bus/pci/devices"
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            self._lacks("hardware", f"{folder}: {error.strerror}")
            return
        lines = []
        for name in names:
            try:
                kind = read(folder / name / "class").strip()
                if read(folder / name / "vendor").strip() != "0x10de" or not kind.startswith(_GPU_CLASSES):
                    continue
            except OSError:
                continue  # gone meanwhile
            lines.append(f"{name} 3D controller: NVIDIA Corporation device {_id(folder / name)}")
            driver = folder / name / "driver"
            if driver.exists():
                lines.append(f"        Kernel driver in use: {driver.resolve().name}")
        if lines:
            yield Text("hardware", str(folder), "\n".join(lines))
        else:
            self._lacks("hardware", "no NVIDIA GPU on PCI")

    def _nodes(self) -> Iterator[Text]:
        """The driver's nodes, as ls -l shows them, also those of MIG."""
        lines = [
            line
            for pattern in _PATTERNS
            for path in sorted(self.dev.glob(pattern))
            if (line := _listed(path, self.dev))
        ]
        if lines:
            yield Text("nodes", str(self.dev), "\n".join(lines))
            return
        self._lacks("nodes", f"no device node of a GPU driver in {self.dev}")
        loaded = [driver for driver in _DRIVERS if (self.proc / f"driver/{driver}/version").exists()]
        for driver in loaded:
            yield Text(
                "nodes", str(self.dev), f"ls: cannot access '/dev/{driver}*': No such file or directory"
            )
        links = sorted((self.dev / "char").glob("195:*"))
        if links:
            yield Text(
                "cgroup", str(self.dev / "char"), "\n".join(f"{one} -> {os.readlink(one)}" for one in links)
            )

    def _libraries(self) -> Iterator[Text]:
        if self.ldconfig is None:
            return
        try:
            lines = [
                line for line in self.ldconfig().splitlines() if any(name in line for name in _LIBRARIES)
            ]
        except OSError as error:
            self._lacks("libraries", f"ldconfig -p: {error.strerror}")
            return
        if not lines:
            self._lacks("libraries", "ldconfig knows no library of a GPU driver")
            return
        yield Text("libraries", "ldconfig -p", "\n".join([*lines, *_resolved(lines)]))

    def _log(self) -> Iterator[Text]:
        try:
            lines = (self.kernel_log or kernel_log)()
        except OSError as error:
            self._lacks("xid", f"{kmsg.KMSG}: {error.strerror}")
            return
        if lines:
            yield Text("xid", "dmesg", "\n".join(lines))


_PATTERNS = ("nvidia*", "nvidia-caps/*", "fakegpu*")
_LIBRARIES = ("libcuda.so", "libnvidia-ml.so", "libfakecuda.so", "libfakeml.so")


def read(path: Path) -> str:
    """At most TEXT_MAX bytes of a file. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(TEXT_MAX).decode("utf-8", "replace")


def kernel_log() -> list[str]:
    """The kernel's log as dmesg prints it. Raises OSError where it may not be read."""
    lines: list[str] = []
    descriptor = os.open(kmsg.KMSG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while len(lines) < 200_000:
            try:
                data = os.read(descriptor, 8192)
            except BlockingIOError:
                break
            except BrokenPipeError:
                continue  # overwritten while it was read: the next read goes on after the gap
            record = kmsg.parse_record(data)
            if record is not None and _by_kernel(data):
                lines.append(f"[{record.ts / 1e9:12.6f}] {record.text}")
    finally:
        os.close(descriptor)
    return lines


def _by_kernel(data: bytes) -> bool:
    """Whether the kernel wrote a record: the log also takes lines from programs, of another facility."""
    return int(data.partition(b",")[0]) >> 3 == 0


def _specs(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(name for name in os.listdir(folder) if name.endswith((".yaml", ".yml", ".json"))))
    except OSError:
        return ()


def _id(device: Path) -> str:
    try:
        return f"10de:{read(device / 'device').strip().removeprefix('0x')}"
    except OSError:
        return "10de"


def _listed(path: Path, dev: Path) -> str:
    """A node as ls -l shows it, "" for what is none."""
    try:
        found = path.stat()
    except OSError:
        return ""
    if not stat.S_ISCHR(found.st_mode):
        return ""
    number = f"{os.major(found.st_rdev)}, {os.minor(found.st_rdev):3}"
    owner, when = host_process.names(found.st_uid, found.st_gid), "Jan  1 00:00"
    return (
        f"{stat.filemode(found.st_mode)} 1 {owner[0]} {owner[1]} {number} {when} /dev/{path.relative_to(dev)}"
    )


def _resolved(lines: list[str]) -> list[str]:
    """The version of the management library that programs get: it is in the real file's name."""
    for line in lines:
        name, _, path = line.partition(" => ")
        if name.strip().startswith(("libnvidia-ml.so.1", "libfakeml.so.1")) and path:
            version = os.path.realpath(path.strip()).partition(".so.")[2]
            if "." in version:
                return [f"NVML library version: {version}"]
    return []
