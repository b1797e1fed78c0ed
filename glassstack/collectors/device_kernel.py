"""GPUs that a module of the kernel drives, as /proc/driver tells of them.

Owns the files of the drivers known here; a field that a driver does not give stays empty.
"""

import re
import stat
from pathlib import Path

from glassstack.model.entities import Device

_VERSION = re.compile(r"(?:Module(?: for \S+)?|version:.*?)\s+(\d+\.\d+(?:\.\d+)?)\b")


def kernel_devices(proc: Path = Path("/proc"), dev: Path = Path("/dev")) -> tuple[Device, ...]:
    """NVIDIA's and fakegpu's devices of the kernel, by index."""
    return (*_nvidia(proc / "driver/nvidia"), *_fakegpu(proc / "driver/fakegpu", dev))


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


def _fakegpu(driver: Path, dev: Path) -> list[Device]:
    text = _read(driver / "version")
    if not text:
        return []
    nodes = [dev / f"fakegpu{index}" for index in range(8)]
    return [
        Device(path=f"/dev/fakegpu{index}", index=index, driver="kernel", version=version_of(text))
        for index, node in enumerate(nodes)
        if _is_device(node)
    ]


def _is_device(node: Path) -> bool:
    try:
        return stat.S_ISCHR(node.stat().st_mode)
    except OSError:
        return False
