"""The embedded device's control socket: finding devices, asking one, telling it to break.

Owns the protocol: one packet asks, one answers, over an abstract unix socket
"fakegpu/UID/NAME" that disappears with its device.
"""

import os
import re
import socket
import struct
from pathlib import Path

import msgspec

_TIMEOUT_S = 2.0
_REPLY_MAX = 65536
_SOCKET = re.compile(r"@(fakegpu/(\d+)/[\w.-]+)$", re.MULTILINE | re.ASCII)
_LOG_LINE = re.compile(r"\[ *(\d+)\.(\d{6})\] (.*)")
ENV = "FAKEGPU_DEVICE"
"""In a program's environment: the device that it runs on."""


class ControlError(Exception):
    """The device did not answer, or refused; one line."""


class ContextStatus(msgspec.Struct, frozen=True):
    """An open file of a device; ``inode`` is its memory file's. Counters are missing while it is lost.

    ``rules`` tells who let its open pass: "kernel" where a device list of the
    kernel's was asked, "emulated" where there is none that knows the node.
    """

    id: int
    pid: int
    name: str
    inode: int
    rules: str = "emulated"
    buffers: int = 0
    channels: int = 0
    bytes: int = 0
    quota: int = 0
    submits: int = 0
    completions: int = 0
    doorbells: int = 0
    xid: int = 0


class DeviceStatus(msgspec.Struct, frozen=True):
    """One GPU; memory in bytes."""

    index: int
    name: str
    uuid: str
    pci: str
    vram_total: int
    vram_used: int
    quota: int
    faults: tuple[str, ...] = ()
    contexts: tuple[ContextStatus, ...] = ()


class Status(msgspec.Struct, frozen=True):
    """An embedded device process and its GPUs."""

    version: str
    pid: int
    name: str
    devices: tuple[DeviceStatus, ...]


_decode = msgspec.json.Decoder(Status).decode


def discover(proc: Path = Path("/proc"), uid: int | None = None) -> list[str]:
    """Names of the running devices of a user (default: own; for root everybody's), as Control takes them."""
    wanted = os.geteuid() if uid is None else uid
    try:
        table = (proc / "net/unix").read_text(errors="replace")
    except OSError:
        return []
    found = {name: int(owner) for name, owner in _SOCKET.findall(table)}
    return sorted(name for name, owner in found.items() if wanted in (0, owner))


class Control:
    """Asks a running device.

    Args:
        name: "NAME", a device of this user, or "fakegpu/UID/NAME".
    """

    def __init__(self, name: str) -> None:
        self.name = name if "/" in name else f"fakegpu/{os.getuid()}/{name}"

    def ask(self, command: str) -> str:
        """The answer to a command. Raises ControlError."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
                channel.settimeout(_TIMEOUT_S)
                channel.connect(b"\0" + self.name.encode())
                self._check_owner(channel)
                channel.sendall(command.encode())
                reply = channel.recv(_REPLY_MAX).decode("utf-8", "replace")
        except ConnectionRefusedError as error:
            raise ControlError(f"no device named {self.name} is running") from error
        except OSError as error:
            raise ControlError(
                f"the device {self.name} does not answer: {error.strerror or error}"
            ) from error
        if reply.startswith("error:"):
            raise ControlError(reply.removeprefix("error:").strip())
        return reply

    def _check_owner(self, channel: socket.socket) -> None:
        """Anybody may take an abstract name; only its user (or root) is believed."""
        _, uid, _ = struct.unpack("3i", channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid != 0 and str(uid) != self.name.split("/")[1]:
            raise ControlError(f"{self.name} is held by another user (uid {uid})")

    def status(self) -> Status:
        """What the device is and holds. Raises ControlError."""
        try:
            return _decode(self.ask("status"))
        except msgspec.DecodeError as error:
            raise ControlError(f"{self.name} answers what is no status: {error}") from error

    def log(self) -> list[tuple[int, str]]:
        """The newest lines of its kernel log, each with its CLOCK_MONOTONIC ns. Raises ControlError."""
        found = (_LOG_LINE.fullmatch(line) for line in self.ask("log").splitlines())
        return [(int(m[1]) * 10**9 + int(m[2]) * 1000, m[3]) for m in found if m]

    def fault(self, spec: str) -> None:
        """Arms a fault such as "xid=31,after=5" (grammar: kmod/SPEC.md). Raises ControlError."""
        self.ask(f"fault {spec}")

    def faults(self) -> list[str]:
        """What is armed. Raises ControlError."""
        return self.ask("fault list").splitlines()

    def clear(self) -> None:
        """Disarms everything. Raises ControlError."""
        self.ask("fault clear")
