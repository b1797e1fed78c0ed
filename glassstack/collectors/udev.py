"""Device nodes and their changes: what is in /dev, what sysfs says of it, and uevents as they come.

Owns pyudev, which is imported at the first look: it loads libudev.
"""

import grp
import os
import pwd
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassstack.collectors import probe_machine
from glassstack.collectors.gaps import Gaps
from glassstack.decoders.registry import family
from glassstack.model.entities import Capability, DeviceNode
from glassstack.model.events import Dropped, Event, Nodes, Uevent
from glassstack.model.values import Source

if TYPE_CHECKING:
    import pyudev

_WORDS = ("fakegpu", "nvidia", "/drm/", "amdgpu", "/kfd/")
_PATTERNS = ("fakegpu*", "nvidia*", "kfd", "dri/*")
_PER_LOOK = 10_000
_ATTRIBUTE_MAX = 256
_ATTRIBUTES = 64
_BUFFER = 1 << 20
_SKIPPED = ("uevent", "dev", "subsystem", "driver", "power", "device")
# udev hands events over from parallel workers: a number may come a little later than the next.
_LATE = 64


def concerns_gpu(node: str, devpath: str, subsystem: str) -> bool:
    """Whether an event is about a GPU: its node, its module or its place on the bus."""
    return bool(node and family(node)) or subsystem == "drm" or any(word in devpath for word in _WORDS)


class UdevCollector:
    """Tells of GPU nodes when they change, and of every uevent about a GPU.

    A gap in the numbers of the events is told as dropped. It counts events
    that the kernel showed to another network namespace only, too.

    Args:
        wanted: (node, devpath, subsystem) → whether to tell of an event.
    """

    name = "uevents"

    def __init__(
        self,
        dev: Path = Path("/dev"),
        run: Path = Path("/run"),
        wanted: Callable[[str, str, str], bool] = concerns_gpu,
        period: float = 1.0,
    ) -> None:
        self.period = period
        self._dev = dev
        self._via = "udev" if (run / "udev/control").exists() else "kernel"
        self._wanted = wanted
        self._gaps = Gaps(_LATE if self._via == "udev" else 0)
        self._monitor: pyudev.Monitor | None = None
        self._context: pyudev.Context | None = None
        self._tried = False
        self._told: tuple[DeviceNode, ...] | None = None

    def probe(self) -> Capability:
        """Ready where events arrive and libudev is there."""
        link = probe_machine.probe_uevents()
        if not link.ready:
            return link
        try:
            import pyudev
        except ImportError as error:
            return Capability(self.name, False, str(error), "apt-get install -y libudev1; pip install pyudev")
        return Capability(self.name, True, f"{link.why}; libudev {pyudev.udev_version()}")

    def sample(self) -> list[Event]:
        """The nodes when they changed, and the events since the last look.

        Without libudev or a socket only the nodes: the capability says why.
        """
        if not self._tried:
            self._tried = True
            self._start()
        events = self._uevents()
        nodes = self.nodes()
        if nodes != self._told:
            self._told = nodes
            events.append(Nodes(time.monotonic_ns(), Source.POLL, nodes))
        return events

    def nodes(self) -> tuple[DeviceNode, ...]:
        """The GPU nodes in /dev now, by path."""
        names = sorted(path for pattern in _PATTERNS for path in self._dev.glob(pattern))
        found = (self._node(path) for path in names if family(f"/dev/{path.relative_to(self._dev)}"))
        return tuple(node for node in found if node)

    def _start(self) -> None:
        try:
            import pyudev

            self._context = pyudev.Context()
            monitor = pyudev.Monitor.from_netlink(self._context, source=self._via)
            monitor.set_receive_buffer_size(_BUFFER)
            monitor.start()
        except (ImportError, OSError):
            return
        self._monitor = monitor

    def _uevents(self) -> list[Event]:
        events: list[Event] = []
        for _ in range(_PER_LOOK if self._monitor else 0):
            assert self._monitor is not None
            try:
                device = self._monitor.poll(timeout=0)
            except OSError:
                continue  # its buffer ran over: the next number tells how many were lost
            if device is None:
                break
            events += self.take(dict(device.properties))
        return events

    def take(self, properties: dict[str, str]) -> list[Event]:
        """An event by its properties: what is to be told of it."""
        now = time.monotonic_ns()
        events: list[Event] = []
        number = properties.get("SEQNUM", "")
        lost = self._gaps.lost(int(number)) if number.isdigit() else 0
        if lost:
            events.append(Dropped(now, Source.POLL, self.name, lost))
        node = properties.get("DEVNAME", "")
        node = node if node.startswith("/") or not node else f"/dev/{node}"
        devpath, subsystem = properties.get("DEVPATH", ""), properties.get("SUBSYSTEM", "")
        if self._wanted(node, devpath, subsystem):
            events.append(
                Uevent(
                    now,
                    Source.POLL,
                    action=properties.get("ACTION", ""),
                    devpath=devpath,
                    subsystem=subsystem,
                    device=node,
                    seqnum=int(number) if number.isdigit() else 0,
                    via=self._via,
                    properties=_more(properties),
                )
            )
        return events

    def _node(self, path: Path) -> DeviceNode | None:
        try:
            found = path.stat()
        except OSError:
            return None  # gone meanwhile
        if not stat.S_ISCHR(found.st_mode):
            return None
        sysfs, attributes, missing = self._sysfs(found.st_rdev)
        return DeviceNode(
            path=f"/dev/{path.relative_to(self._dev)}",
            major=os.major(found.st_rdev),
            minor=os.minor(found.st_rdev),
            mode=stat.S_IMODE(found.st_mode),
            owner=_owner(found.st_uid, found.st_gid),
            sysfs=sysfs,
            attributes=attributes,
            missing=missing,
        )

    def _sysfs(self, number: int) -> tuple[str, dict[str, str], str]:
        """Place, attributes, and why there are none."""
        if self._context is None:
            return "", {}, "libudev could not be loaded"
        import pyudev

        try:
            device = pyudev.Devices.from_device_number(self._context, "char", number)
        except pyudev.DeviceNotFoundError:
            return "", {}, "sysfs does not know this number: nobody drives it, or its driver makes no class"
        return device.device_path, dict(_attributes(device.attributes)), ""


def _attributes(attributes: Any) -> Iterable[tuple[str, str]]:
    names = sorted(name for name in attributes.available_attributes if name.split("/")[0] not in _SKIPPED)
    for name in names[:_ATTRIBUTES]:
        try:
            value = attributes.get(name)
        except OSError:
            continue
        if value is not None:
            yield name, value[:_ATTRIBUTE_MAX].decode("utf-8", "replace").strip()


def _more(properties: dict[str, str]) -> dict[str, str]:
    known = {"ACTION", "DEVPATH", "SUBSYSTEM", "DEVNAME", "SEQNUM", "USEC_INITIALIZED"}
    return {key: value[:_ATTRIBUTE_MAX] for key, value in sorted(properties.items()) if key not in known}


def _owner(uid: int, gid: int) -> str:
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    try:
        return f"{user}:{grp.getgrgid(gid).gr_name}"
    except KeyError:
        return f"{user}:{gid}"
