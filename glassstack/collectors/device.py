"""The devices as their drivers tell of them: the embedded one by its socket, a kernel's by /proc.

Owns the look from the driver's side; the program's side is maps.py and channels.py.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from glassstack.collectors.control import (
    ContextStatus,
    Control,
    ControlError,
    DeviceStatus,
    Status,
    discover,
)
from glassstack.collectors.device_kernel import kernel_devices
from glassstack.decoders import kmsg
from glassstack.model.entities import Capability, Context, Device
from glassstack.model.events import Devices, Event, Log
from glassstack.model.values import Source

_NONE = "no GPU driver: neither an embedded device nor a module of the kernel is there"
_REMEDY = "`glassstack run -- PROGRAM` brings an embedded device along"
_ERR = 3


class ContextIds:
    """The driver's id of a context, by the inode of its file; asked once for each."""

    def __init__(self, names: Callable[[], Sequence[str]] = discover) -> None:
        self._names = names
        self._known: dict[tuple[str, int], int] = {}

    def __call__(self, device: str, inode: int) -> int:
        """The id, 0 where no device knows the file."""
        key = (device, inode)
        if key not in self._known:
            self._known[key] = 0
            for status in statuses(self._names()):
                for one in status.devices:
                    for context in one.contexts:
                        self._known[(f"/dev/fakegpu{one.index}", context.inode)] = context.id
        return self._known[key]


def statuses(names: Sequence[str]) -> list[Status]:
    """What the named embedded devices say; one that does not answer is left out."""
    found = []
    for name in names:
        try:
            found.append(Control(name).status())
        except ControlError:
            continue  # it ended meanwhile
    return found


class DevicePoller:
    """Looks at the devices.

    Args:
        names: the embedded devices to ask; all of this user's by default.
        proc, dev, sys: where these are mounted.
        log: tell of their log lines too, where no witness does.
        armed: tell of faults that are armed; in a drill they are for the person to find.
    """

    name = "device"

    def __init__(
        self,
        names: Callable[[], Sequence[str]] = discover,
        proc: Path = Path("/proc"),
        dev: Path = Path("/dev"),
        sys: Path = Path("/sys"),
        log: bool = False,
        armed: bool = True,
        period: float = 1.0,
    ) -> None:
        self.period = period
        self._names = names
        self._proc = proc
        self._dev = dev
        self._sys = sys
        self._log = log
        self._armed = armed
        self._seen: dict[str, tuple[int, str]] = {}
        """Each device's newest line that was told."""

    def probe(self) -> Capability:
        """Ready where a driver is."""
        event = self.look()
        if event.missing:
            return Capability(self.name, False, event.missing, _REMEDY)
        drivers = sorted({f"{device.driver} {device.version}" for device in event.devices})
        return Capability(self.name, True, ", ".join(drivers))

    def sample(self) -> list[Event]:
        """One Devices event, and the new log lines."""
        events: list[Event] = [self.look()]
        for name in self._names() if self._log else ():
            events += self._lines(name)
        return events

    def look(self) -> Devices:
        """The devices now."""
        embedded = [
            _device(status.version, one if self._armed else msgspec.structs.replace(one, faults=()))
            for status in statuses(self._names())
            for one in status.devices
        ]
        found = (*embedded, *kernel_devices(self._proc, self._dev, self._sys))
        return Devices(time.monotonic_ns(), Source.POLL, found, "" if found else _NONE)

    def _lines(self, name: str) -> list[Event]:
        try:
            lines = Control(name).log()
        except ControlError:
            return []
        last = self._seen.get(name)
        # The oldest lines are overwritten: without the last one seen, all are new.
        first = next((n + 1 for n in range(len(lines) - 1, -1, -1) if lines[n] == last), 0)
        if lines:
            self._seen[name] = lines[-1]
        return [_log(ts, text) for ts, text in lines[first:]]


def _device(version: str, one: DeviceStatus) -> Device:
    return Device(
        path=f"/dev/fakegpu{one.index}",
        index=one.index,
        driver="embedded",
        version=version,
        name=one.name,
        uuid=one.uuid,
        pci=one.pci,
        vram_total=one.vram_total,
        vram_used=one.vram_used,
        quota=one.quota,
        contexts=len(one.contexts),
        faults=one.faults,
        opened=tuple(sorted(map(_context, one.contexts), key=lambda context: context.id)),
    )


def _context(one: ContextStatus) -> Context:
    facts = {name: getattr(one, name) for name in Context.__struct_fields__ if name != "missing"}
    return Context(**facts, missing="" if one.quota else "the device does not answer for it")


def _log(ts: int, text: str) -> Log:
    """A line; the socket does not give levels, and the device writes only errors."""
    xid = kmsg.parse_xid(text)
    if xid is None:
        return Log(ts, Source.POLL, _ERR, text)
    return Log(ts, Source.POLL, _ERR, text, xid.xid, xid.pid, kmsg.fakegpu_node(xid.pci))
