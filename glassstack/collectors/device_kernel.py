"""GPUs that a module of the kernel drives, as /proc/driver and sysfs tell of them.

Owns the files of the drivers known here; a field that a driver does not give stays empty.
"""

import os
import re
import stat
from pathlib import Path

from msgspec.structs import replace

from glassstack.model.entities import Context, Device

_VERSION = re.compile(r"(?:Module(?: for \S+)?|version:.*?)\s+(\d+\.\d+(?:\.\d+)?)\b")


def kernel_devices(
    proc: Path = Path("/proc"), dev: Path = Path("/dev"), sys: Path = Path("/sys")
) -> tuple[Device, ...]:
    """NVIDIA's and fakegpu's devices of the kernel, by index."""
    return (
        *_nvidia(proc / "driver/nvidia"),
        *_fakegpu(proc / "driver/fakegpu", dev, sys / "class/fakegpu"),
    )


def version_of(text: str) -> str:
    """The version in a driver's ``version`` file, "" where it has none."""
    found = _VERSION.search(text)
    return found[1] if found else ""


def nvidia_version(proc: Path = Path("/proc")) -> str:
    """The version of NVIDIA's driver in this kernel, "" where there is none."""
    return version_of(_read(proc / "driver/nvidia/version"))


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _nvidia(driver: Path) -> list[Device]:
    text = _read(driver / "version")
    if not text:
        return []
    devices: list[Device] = []
    for information in sorted((driver / "gpus").glob("*/information")):
        pairs = (line.partition(":") for line in _read(information).splitlines())
        facts = {key.strip(): value.strip() for key, _, value in pairs}
        minor = facts.get("Device Minor", "")
        index = int(minor) if minor.isdigit() else len(devices)
        devices.append(
            Device(
                path=f"/dev/nvidia{index}",
                index=index,
                driver="kernel",
                version=version_of(text),
                name=facts.get("Model", ""),
                uuid=facts.get("GPU UUID", ""),
                pci=facts.get("Bus Location", information.parent.name),
            )
        )
    return devices


def _fakegpu(driver: Path, dev: Path, devices: Path) -> list[Device]:
    text = _read(driver / "version")
    if not text:
        return []
    names = [(index, f"fakegpu{index}") for index in range(8)]
    return [
        _fakegpu_device(index, version_of(text), devices / name)
        for index, name in names
        if _is_device(dev / name)
    ]


def _fakegpu_device(index: int, version: str, folder: Path) -> Device:
    opened = _contexts(folder / "contexts")
    return Device(
        path=f"/dev/fakegpu{index}",
        index=index,
        driver="kernel",
        version=version,
        name=_value(folder / "name"),
        uuid=_value(folder / "uuid"),
        pci=_value(folder / "pci"),
        vram_total=_number(folder / "vram_total"),
        vram_used=_number(folder / "vram_used"),
        quota=_number(folder / "quota"),
        contexts=len(opened),
        opened=opened,
    )


def _contexts(folder: Path) -> tuple[Context, ...]:
    """By id. One that is closed while it is looked at is left out."""
    try:
        ids = sorted(int(name) for name in os.listdir(folder) if name.isdigit())
    except OSError:
        return ()
    found = (_context(folder / str(number), number) for number in ids)
    return tuple(one for one in found if one is not None)


_COUNTERS = ("buffers", "channels", "bytes", "quota", "submits", "completions", "doorbells", "xid")


def _context(folder: Path, number: int) -> Context | None:
    try:
        pid = int((folder / "pid").read_text())
        name = (folder / "name").read_text(errors="replace").rstrip("\n")
    except (OSError, ValueError):
        return None
    try:
        counters = {key: int((folder / key).read_text()) for key in _COUNTERS}
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        # A lost device's contexts are still open, but it does not answer for them.
        why = error.strerror if isinstance(error, OSError) else str(error)
        return Context(number, pid, name, missing=f"the driver says: {why}")
    return replace(Context(number, pid, name), **counters)


def _value(path: Path) -> str:
    return _read(path).strip()


def _number(path: Path) -> int:
    text = _value(path)
    return int(text) if text.isdigit() else 0


def _is_device(node: Path) -> bool:
    try:
        return stat.S_ISCHR(node.stat().st_mode)
    except OSError:
        return False
