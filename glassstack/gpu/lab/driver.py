"""The modules for the lab's kernel, built with its own headers when anything they come from changed."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from glassstack.gpu.lab.needs import Kernel

SOURCES = ("core", "linux", "uapi")


class DriverError(Exception):
    """There is no module for this kernel; ``cause`` and ``remedy`` are a line each."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause}; {remedy}")
        self.cause = cause
        self.remedy = remedy


def modules(kernel: Kernel, checkout: Path | None) -> Path:
    """The folder with the modules for ``kernel``, brought up to date.

    Raises:
        DriverError: no sources, no headers, no compiler, or it does not compile.
    """
    if checkout is None or not (checkout / "kmod/linux/Makefile").is_file():
        raise DriverError("an installed glassstack has no driver sources", "run from a checkout")
    if kernel.headers is None:
        package = f"linux-headers-{kernel.release}"
        raise DriverError(f"no headers of {kernel.release}", f"as root: apt-get install -y {package}")
    for tool, package in (("make", "make"), ("gcc", "gcc")):
        if not shutil.which(tool):
            raise DriverError(f"no {tool}", f"as root: apt-get install -y {package}")
    out = checkout / "build/kmod" / kernel.release
    if not _fresh(out, checkout):
        _make(out, checkout, kernel.headers)
    return out


def _fresh(out: Path, checkout: Path) -> bool:
    built = [path.stat().st_mtime for path in out.glob("*.ko")]
    return bool(built) and max(_times(checkout)) < min(built)


def _times(checkout: Path) -> Iterator[float]:
    for name in SOURCES:
        folder = checkout / "kmod" / name
        yield folder.stat().st_mtime
        yield from (path.stat().st_mtime for path in folder.iterdir())


def _make(out: Path, checkout: Path, headers: Path) -> None:
    log = out.with_name(f"{out.name}.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    command = ["make", f"-j{os.cpu_count() or 1}", "-C", str(checkout / "kmod/linux")]
    with open(log, "wb") as said:
        done = subprocess.run(
            [*command, f"KDIR={headers}", f"OUT={out.resolve()}"],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    if done.returncode or not list(out.glob("*.ko")):
        raise DriverError("the modules did not build", f"see {log}")
