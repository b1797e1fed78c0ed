"""What the lab is made of: programs, a kernel package, and whether KVM really works.

Only finds and tries; builds nothing. Owns the apt lines.
"""

import os
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

QEMU = "qemu-system-x86_64"
PROGRAMS: Mapping[str, str] = {
    QEMU: "qemu-system-x86",
    "busybox": "busybox-static",
    "mksquashfs": "squashfs-tools",
    "modprobe": "kmod",
    "setpriv": "util-linux",
}
"""Program to the Debian package that brings it."""
KERNEL_PACKAGE = "linux-image-amd64"
_FIRST_WORD_S = 4.0
_TRIAL_S = 20.0


class LabMissingError(Exception):
    """The lab can not be had here; ``cause`` and ``remedy`` are a line each."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause}; {remedy}")
        self.cause = cause
        self.remedy = remedy


@dataclass(frozen=True)
class Kernel:
    """A kernel to boot.

    Attributes:
        release: as ``uname -r`` says it there.
        image: the bzImage.
        modules: its folder under /lib/modules.
    """

    release: str
    image: Path
    modules: Path

    @property
    def headers(self) -> Path | None:
        """What modules are built against; ``None`` when the headers package is not installed."""
        build = self.modules / "build"
        return build if (build / "Makefile").is_file() else None


@dataclass(frozen=True)
class Needs:
    """All that a boot takes.

    Attributes:
        virtme_run: of virtme-ng.
        qemu: the emulator.
        kernel: what is booted.
    """

    virtme_run: Path
    qemu: Path
    kernel: Kernel


def find(release: str = "", root: Path = Path("/"), path: str | None = None) -> Needs:
    """Looks for everything.

    Args:
        release: of the kernel to boot; "" = the newest one installed.
        root: where /boot and /lib/modules are.
        path: to look for programs in, instead of PATH.

    Raises:
        LabMissingError: names all packages that are absent, with the line that installs them.
    """
    absent = [package for name, package in PROGRAMS.items() if not _which(name, path)]
    kernels = installed_kernels(root)
    if not kernels:
        absent.append(KERNEL_PACKAGE)
    if absent:
        raise LabMissingError(
            f"the lab VM needs {', '.join(absent)}",
            f"as root: apt-get install -y --no-install-recommends {' '.join(absent)}",
        )
    virtme_run = _beside_python("virtme-run") or _which("virtme-run", path)
    if not virtme_run:
        raise LabMissingError(
            "the lab VM needs virtme-ng", f"{sys.executable} -m pip install 'virtme-ng>=1.36'"
        )
    return Needs(Path(virtme_run), Path(_which(QEMU, path) or QEMU), _pick(kernels, release))


def installed_kernels(root: Path = Path("/")) -> list[Kernel]:
    """Kernels with both image and modules, newest last."""
    found = []
    for image in (root / "boot").glob("vmlinuz-*"):
        release = image.name.removeprefix("vmlinuz-")
        modules = root / "lib/modules" / release
        if (modules / "kernel").is_dir():
            found.append(Kernel(release, image, modules))
    return sorted(found, key=lambda kernel: [int(part) for part in re.findall(r"\d+", kernel.release)])


def _pick(kernels: Sequence[Kernel], release: str) -> Kernel:
    chosen = [kernel for kernel in kernels if release in ("", kernel.release)]
    if not chosen:
        names = ", ".join(kernel.release for kernel in kernels)
        raise LabMissingError(f"no kernel {release} with its modules is installed", f"there is: {names}")
    if not os.access(chosen[-1].image, os.R_OK):
        raise LabMissingError(f"{chosen[-1].image} is not readable", "run as root")
    return chosen[-1]


def _which(name: str, path: str | None) -> str | None:
    return shutil.which(
        name, path=path or os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    )


def _beside_python(name: str) -> str | None:
    """A program of the environment this Python is of, whether or not that is activated."""
    return shutil.which(name, path=str(Path(sys.executable).parent))


def kvm_works(needs: Needs, cache: Path, device: Path = Path("/dev/kvm")) -> bool:
    """Whether this kernel boots under KVM, tried once per boot of the host: what opens may not work."""
    if not os.access(device, os.R_OK | os.W_OK):
        return False
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    known = cache / f"kvm-{boot}-{needs.kernel.release}"
    try:
        return known.read_text() == "yes"
    except OSError:
        pass
    works = _boots_under_kvm(needs)
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob("kvm-*"):
        old.unlink(missing_ok=True)
    known.write_text("yes" if works else "no")
    return works


def _boots_under_kvm(needs: Needs) -> bool:
    """Boots it without a root file system: a kernel that came up panics, and QEMU ends by that."""
    command = [str(needs.qemu), "-accel", "kvm", "-cpu", "host", "-m", "256", "-nodefaults"]
    command += ["-display", "none", "-serial", "stdio", "-no-reboot", "-kernel", str(needs.kernel.image)]
    with subprocess.Popen(
        [*command, "-append", "earlyprintk=serial console=ttyS0 panic=-1"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as trial:
        assert trial.stdout is not None
        try:
            # One that hangs says nothing at all.
            if not select.select([trial.stdout], [], [], _FIRST_WORD_S)[0]:
                return False
            said = trial.communicate(timeout=_TRIAL_S)[0]
        except subprocess.TimeoutExpired:
            return False
        finally:
            trial.kill()
    return trial.returncode == 0 and b"Kernel panic" in said
