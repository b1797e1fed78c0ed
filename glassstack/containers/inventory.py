"""The GPUs and driver libraries of this machine that a container could get.

Owns finding them: a kernel's nodes with their numbers, or those that the
embedded device shows its programs. Writes nothing.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from glassstack.collectors.control import ENV, Control, DeviceStatus, discover
from glassstack.decoders.fakegpu_uapi import MAJOR, UVM_MAJOR
from glassstack.gpu.artifacts import Artifacts, MissingArtifactError

_CTL_MINOR = 255
_MODE = 0o666
UMD_LIBRARIES = ("libfakecuda.so", "libfakeml.so")
"""What only injection brings: the user-mode driver and the management library."""


@dataclass(frozen=True)
class Node:
    """A device node: path on the host, numbers, permissions and owner."""

    path: str
    major: int
    minor: int
    mode: int = _MODE
    uid: int = 0
    gid: int = 0


@dataclass(frozen=True)
class Gpu:
    """One GPU: its number, its UUID ("" where the driver does not tell it) and its node."""

    index: int
    uuid: str
    node: Node


@dataclass(frozen=True)
class Inventory:
    """What there is.

    Attributes:
        gpus: by index.
        shared: the nodes that every program needs whichever GPU it uses.
        source: "kernel" or the name of the embedded device.
        version: of the driver.
    """

    gpus: tuple[Gpu, ...]
    shared: tuple[Node, ...]
    source: str
    version: str


def kernel_inventory(
    dev: Path = Path("/dev"), sysfs: Path = Path("/sys"), proc: Path = Path("/proc")
) -> Inventory | None:
    """The nodes that the module made; ``None`` where it made none."""
    gpus = []
    for index in range(8):
        node = _node(dev, f"fakegpu{index}")
        if node:
            uuid = _line(sysfs / f"class/fakegpu/fakegpu{index}/uuid")
            gpus.append(Gpu(index, uuid, node))
    shared = [node for name in ("fakegpuctl", "fakegpu-uvm") if (node := _node(dev, name))]
    version = _line(sysfs / "class/fakegpu/fakegpu0/version")
    driver = proc / "driver/fakegpu/version"
    if not gpus or not driver.exists():
        return None
    return Inventory(tuple(gpus), tuple(shared), "kernel", version)


def embedded_inventory(name: str) -> Inventory:
    """The nodes that an embedded device shows to its programs. Raises ControlError."""
    status = Control(name).status()
    gpus = tuple(_embedded_gpu(one) for one in status.devices)
    shared = (Node("/dev/fakegpuctl", MAJOR, _CTL_MINOR), Node("/dev/fakegpu-uvm", UVM_MAJOR, 0))
    return Inventory(gpus, shared, name, status.version)


def inventory(environ: Mapping[str, str] = os.environ) -> Inventory | None:
    """What is here: of the embedded device this process runs on, else of the kernel, else of one that runs.

    Raises:
        ControlError: the embedded device does not answer.
    """
    # The first shows its own programs nodes that look like a kernel's.
    if own := environ.get(ENV, ""):
        return embedded_inventory(own)
    if found := kernel_inventory():
        return found
    running = discover()
    return embedded_inventory(running[0]) if running else None


def umd_libraries(artifacts: Artifacts, version: str) -> list[Path]:
    """The files of the driver's libraries, by version. Raises MissingArtifactError."""
    found = []
    for name in UMD_LIBRARIES:
        try:
            path = artifacts.lib(f"{name}.{version}" if version else f"{name}.1")
        except MissingArtifactError as error:
            remedy = f"build it: `make -C kmod umd ml VERSION={version or 'X.Y.Z'}`"
            raise MissingArtifactError(error.cause, remedy) from error
        found.append(path.resolve())
    return found


def _embedded_gpu(one: DeviceStatus) -> Gpu:
    return Gpu(one.index, one.uuid, Node(f"/dev/fakegpu{one.index}", MAJOR, one.index))


def _node(dev: Path, name: str) -> Node | None:
    try:
        info = (dev / name).lstat()
    except OSError:
        return None
    if not stat.S_ISCHR(info.st_mode):
        return None
    numbers = os.major(info.st_rdev), os.minor(info.st_rdev)
    return Node(f"/dev/{name}", *numbers, stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid)


def _line(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
